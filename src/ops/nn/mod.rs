//! Functions of neural networks: what users find under `nn.functional`.
pub mod attention;
pub mod cross_entropy;
pub mod dense;
pub mod likelihood;
pub mod loss;
pub mod normalize;
