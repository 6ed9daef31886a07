//! `Container`: a container of a pytree without its items, and how to make it again of others.
//!
//! The rule for every walk over containers: lists, tuples, dicts and their subclasses, named tuples and dataclasses
//! are containers; None has no leaves; anything else is a leaf.

use ::numpy::PyUntypedArray;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple, PyType};
use smallvec::SmallVec;

use crate::bindings::object::PyTensor;
use crate::bindings::pytree::static_value;

/// The keys of a dict, or the names of fields.
pub(super) type Keys = Box<[Py<PyAny>]>;

/// The items of a container.
pub(super) type Items<'py> = SmallVec<[Bound<'py, PyAny>; 8]>;

/// A container without its items.
pub(crate) enum Container {
    List,
    Tuple,
    /// A subclass of list or tuple, which is called with the items.
    Sequence(Py<PyType>),
    /// A named tuple: its class, which is called with the items as arguments.
    NamedTuple(Py<PyType>),
    Dict(Keys),
    /// A subclass of dict, or a dataclass.
    Object(Box<ObjectContainer>),
}

/// A container that is made again as a copy of one with other items.
pub(crate) struct ObjectContainer {
    class: Py<PyType>,
    names: Keys,
    is_mapping: bool,
    /// Fields of a dataclass that are no items.
    statics: Vec<(Py<PyAny>, Py<PyAny>)>,
    prototype: Py<PyAny>,
}

/// Whether an object is of a type that is certainly no container.
fn is_plain_leaf(ob: &Bound<'_, PyAny>) -> bool {
    ob.is_exact_instance_of::<PyTensor>()
        || ob.is_exact_instance_of::<PyFloat>()
        || ob.is_exact_instance_of::<PyUntypedArray>()
        || ob.is_exact_instance_of::<PyInt>()
        || ob.is_exact_instance_of::<PyBool>()
        || ob.is_exact_instance_of::<PyString>()
}

impl Container {
    /// Takes a container apart; `None` for anything else.
    ///
    /// Reads what lists and tuples hold, whatever a subclass says of length and iteration.
    pub(super) fn open<'py>(ob: &Bound<'py, PyAny>) -> PyResult<Option<(Container, Items<'py>)>> {
        if is_plain_leaf(ob) {
            return Ok(None);
        }
        if let Ok(tuple) = ob.cast::<PyTuple>() {
            let exact = ob.is_exact_instance_of::<PyTuple>();
            let container = if exact { Container::Tuple } else { Container::sequence(ob)? };
            return Ok(Some((container, tuple.iter().collect())));
        }
        if let Ok(list) = ob.cast::<PyList>() {
            let exact = ob.is_exact_instance_of::<PyList>();
            let container = if exact { Container::List } else { Container::sequence(ob)? };
            return Ok(Some((container, list.iter().collect())));
        }
        if let Ok(dict) = ob.cast_exact::<PyDict>() {
            let keys = dict.iter().map(|(key, _)| key.unbind()).collect();
            return Ok(Some((Container::Dict(keys), dict.iter().map(|(_, item)| item).collect())));
        }
        let py = ob.py();
        if ob.is_instance_of::<PyDict>() {
            let names = ob.try_iter()?.map(|key| Ok(key?.unbind())).collect::<PyResult<_>>()?;
            let items = ob.call_method0(intern!(py, "values"))?.try_iter()?;
            let items = items.collect::<PyResult<Items<'py>>>()?;
            return Ok(Some((ObjectContainer::of(ob, names, true, Vec::new()), items)));
        }
        let fields = ob.get_type().getattr_opt(intern!(py, "__dataclass_fields__"))?;
        match fields {
            Some(_) if !ob.is_instance_of::<PyType>() => Container::open_dataclass(ob).map(Some),
            _ => Ok(None),
        }
    }

    fn sequence(ob: &Bound<'_, PyAny>) -> PyResult<Container> {
        let class = ob.get_type();
        let has_names = class.getattr_opt(intern!(ob.py(), "_fields"))?.is_some();
        let class = class.unbind();
        Ok(if has_names { Container::NamedTuple(class) } else { Container::Sequence(class) })
    }

    fn open_dataclass<'py>(ob: &Bound<'py, PyAny>) -> PyResult<(Container, Items<'py>)> {
        static FIELDS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let py = ob.py();
        let (mut names, mut statics, mut items) = (Vec::new(), Vec::new(), Items::new());
        for field in FIELDS.import(py, "dataclasses", "fields")?.call1((ob,))?.try_iter()? {
            let field = field?;
            let name = field.getattr(intern!(py, "name"))?;
            let value = ob.getattr(name.cast::<PyString>()?)?;
            let metadata = field.getattr(intern!(py, "metadata"))?;
            let mark = metadata.call_method1(intern!(py, "get"), (intern!(py, "static"),))?;
            if mark.is_truthy()? {
                statics.push((name.unbind(), value.unbind()));
            } else {
                names.push(name.unbind());
                items.push(value);
            }
        }
        Ok((ObjectContainer::of(ob, names.into(), false, statics), items))
    }

    /// Whether it is a list or tuple of some class.
    pub(crate) fn is_sequence(&self) -> bool {
        !matches!(self, Container::Dict(_) | Container::Object(_))
    }

    /// Whether it is a dict of some class.
    pub(crate) fn is_mapping(&self) -> bool {
        match self {
            Container::Object(object) => object.is_mapping,
            other => matches!(other, Container::Dict(_)),
        }
    }

    /// The class.
    pub(crate) fn class<'py>(&self, py: Python<'py>) -> Bound<'py, PyType> {
        match self {
            Container::List => py.get_type::<PyList>(),
            Container::Tuple => py.get_type::<PyTuple>(),
            Container::Dict(_) => py.get_type::<PyDict>(),
            Container::Sequence(class) | Container::NamedTuple(class) => class.bind(py).clone(),
            Container::Object(object) => object.class.bind(py).clone(),
        }
    }

    /// Makes the container of these items.
    pub(super) fn build<'py>(
        &self,
        py: Python<'py>,
        items: Items<'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Container::List => Ok(PyList::new(py, items)?.into_any()),
            Container::Tuple => Ok(PyTuple::new(py, items)?.into_any()),
            Container::Sequence(class) => class.bind(py).call1((PyList::new(py, items)?,)),
            Container::NamedTuple(class) => class.bind(py).call1(PyTuple::new(py, items)?),
            Container::Dict(keys) => {
                let dict = PyDict::new(py);
                for (key, item) in keys.iter().zip(items) {
                    dict.set_item(key.bind(py), item)?;
                }
                Ok(dict.into_any())
            }
            Container::Object(object) => object.build(py, items),
        }
    }

    /// Item `i` of an object that was opened as this container.
    pub(crate) fn item<'py>(
        &self,
        ob: &Bound<'py, PyAny>,
        i: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = ob.py();
        match self {
            Container::Dict(keys) => ob.get_item(keys[i].bind(py)),
            Container::Object(object) if object.is_mapping => ob.get_item(object.names[i].bind(py)),
            Container::Object(object) => ob.getattr(object.names[i].bind(py).cast::<PyString>()?),
            _ => match ob.cast::<PyList>() {
                Ok(list) => list.get_item(i),
                Err(_) => ob.cast::<PyTuple>()?.get_item(i),
            },
        }
    }

    /// Whether both have the same class, keys and static fields.
    pub(super) fn is_same(&self, py: Python<'_>, other: &Container) -> bool {
        let same = |a: &Py<PyAny>, b: &Py<PyAny>| {
            static_value::is_same(a.bind(py), b.bind(py)).unwrap_or(false)
        };
        let all = |a: &Keys, b: &Keys| {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| same(a, b))
        };
        match (self, other) {
            (Container::List, Container::List) | (Container::Tuple, Container::Tuple) => true,
            (Container::Sequence(a), Container::Sequence(b))
            | (Container::NamedTuple(a), Container::NamedTuple(b)) => a.is(b),
            (Container::Dict(a), Container::Dict(b)) => all(a, b),
            (Container::Object(a), Container::Object(b)) => {
                let mut statics = a.statics.iter().zip(&b.statics);
                a.class.is(&b.class)
                    && all(&a.names, &b.names)
                    && a.statics.len() == b.statics.len()
                    && statics.all(|((a, x), (b, y))| same(a, b) && same(x, y))
            }
            _ => false,
        }
    }

    /// The keys of `count` items: numbers, keys of a dict, names of fields.
    pub(super) fn keys<'py>(&self, py: Python<'py>, count: usize) -> PyResult<Items<'py>> {
        Ok(match self {
            Container::Dict(keys) => keys.iter().map(|key| key.bind(py).clone()).collect(),
            Container::Object(object) => {
                object.names.iter().map(|name| name.bind(py).clone()).collect()
            }
            Container::NamedTuple(class) => {
                let names = class.bind(py).getattr(intern!(py, "_fields"))?;
                names.try_iter()?.take(count).collect::<PyResult<_>>()?
            }
            _ => {
                (0..count).map(|i| Ok(i.into_pyobject(py)?.into_any())).collect::<PyResult<_>>()?
            }
        })
    }

    /// The keys as they are written behind a value: `[0]`, `['w']`, `.name`.
    pub(super) fn accessors(&self, py: Python<'_>, count: usize) -> PyResult<Vec<String>> {
        let has_names = match self {
            Container::NamedTuple(_) => true,
            Container::Object(object) => !object.is_mapping,
            _ => false,
        };
        let keys = self.keys(py, count)?;
        let accessor = |key: Bound<'_, PyAny>| match has_names {
            true => Ok(format!(".{}", key.str()?)),
            false => Ok(format!("[{}]", key.repr()?)),
        };
        keys.into_iter().map(accessor).collect()
    }

    /// Visits the Python objects that it owns.
    pub(super) fn visit(&self, visit: &mut dyn FnMut(&Py<PyAny>)) {
        match self {
            Container::List | Container::Tuple => {}
            Container::Sequence(class) | Container::NamedTuple(class) => visit(class.as_any()),
            Container::Dict(keys) => keys.iter().for_each(visit),
            Container::Object(object) => {
                visit(object.class.as_any());
                visit(&object.prototype);
                object.names.iter().for_each(&mut *visit);
                object.statics.iter().for_each(|(_, value)| visit(value));
            }
        }
    }

    /// Lets go of the items of the container that it was made from.
    pub(super) fn remove_items(&mut self, py: Python<'_>) -> PyResult<()> {
        if let Container::Object(object) = self {
            object.prototype = object.emptied(py)?.unbind();
        }
        Ok(())
    }

    pub(super) fn clone_ref(&self, py: Python<'_>) -> Container {
        match self {
            Container::List => Container::List,
            Container::Tuple => Container::Tuple,
            Container::Sequence(class) => Container::Sequence(class.clone_ref(py)),
            Container::NamedTuple(class) => Container::NamedTuple(class.clone_ref(py)),
            Container::Dict(keys) => Container::Dict(clone_keys(py, keys)),
            Container::Object(object) => Container::Object(Box::new(object.clone_ref(py))),
        }
    }
}

fn clone_keys(py: Python<'_>, keys: &Keys) -> Keys {
    keys.iter().map(|key| key.clone_ref(py)).collect()
}

impl ObjectContainer {
    fn of(
        ob: &Bound<'_, PyAny>,
        names: Keys,
        is_mapping: bool,
        statics: Vec<(Py<PyAny>, Py<PyAny>)>,
    ) -> Container {
        let (class, prototype) = (ob.get_type().unbind(), ob.clone().unbind());
        Container::Object(Box::new(ObjectContainer {
            class,
            names,
            is_mapping,
            statics,
            prototype,
        }))
    }

    fn clone_ref(&self, py: Python<'_>) -> ObjectContainer {
        let statics = self.statics.iter();
        ObjectContainer {
            class: self.class.clone_ref(py),
            names: clone_keys(py, &self.names),
            is_mapping: self.is_mapping,
            statics: statics
                .map(|(name, value)| (name.clone_ref(py), value.clone_ref(py)))
                .collect(),
            prototype: self.prototype.clone_ref(py),
        }
    }

    fn copy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        static COPY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        COPY.import(py, "copy", "copy")?.call1((&self.prototype,))
    }

    fn build<'py>(&self, py: Python<'py>, items: Items<'py>) -> PyResult<Bound<'py, PyAny>> {
        let made = self.copy(py)?;
        for (name, item) in self.names.iter().zip(items) {
            if self.is_mapping {
                // Not `update`, which means something else to a Counter.
                made.set_item(name, item)?;
            } else {
                set_field(&made, name, &item)?;
            }
        }
        Ok(made)
    }

    /// A copy of the container with None in place of its items.
    fn emptied<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let made = self.copy(py)?;
        let none = py.None().into_bound(py);
        for name in &self.names {
            match made.cast::<PyDict>() {
                Ok(dict) => dict.set_item(name, &none)?,
                Err(_) => set_field(&made, name, &none)?,
            }
        }
        Ok(made)
    }
}

/// Sets a field of a dataclass, which may be frozen.
fn set_field(ob: &Bound<'_, PyAny>, name: &Py<PyAny>, item: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = ob.py();
    let set = py.get_type::<PyAny>().getattr(intern!(py, "__setattr__"))?;
    set.call1((ob, name, item)).map(|_| ())
}
