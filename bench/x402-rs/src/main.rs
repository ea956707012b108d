//! The facilitator of x402-rs on one EVM chain, made of its published crates: `exact` of both versions, its own
//! handlers, one signer. Reads PORT, RPC_URL, CHAIN_ID, SIGNER_KEY, and POLL_MS (100): how often it asks for blocks.
//! Its best settings are the default: a comparison with a slower peer is worth nothing.

use alloy_provider::Provider;
use serde_json::{Value, json};
use std::{collections::HashMap, env, error::Error, sync::Arc, time::Duration};
use x402_chain_eip155::chain::config::Eip155ChainConfig;
use x402_chain_eip155::chain::{
    Eip155ChainProvider, Eip155ChainReference, Eip155MetaTransactionProvider,
};
use x402_chain_eip155::{V1Eip155Exact, V2Eip155Exact};
use x402_facilitator_local::{FacilitatorLocal, handlers};
use x402_types::chain::{ChainRegistry, FromConfig};
use x402_types::scheme::{
    SchemeBlueprints, SchemeRegistry, X402SchemeFacilitator, X402SchemeFacilitatorBuilder,
    X402SchemeId,
};

type Chain = Arc<Eip155ChainProvider>;
type Failure = Box<dyn Error>;

/// It refuses to start without this contract, which only smart wallets need. Local nodes do not have it.
const VALIDATOR: &str = "0xdAcD51A54883eb67D95FAEb2BBfdC4a9a6BD2a3B";

struct V1;
struct V2;

impl X402SchemeId for V1 {
    fn x402_version(&self) -> u8 {
        1
    }
    fn namespace(&self) -> &str {
        "eip155"
    }
    fn scheme(&self) -> &str {
        "exact"
    }
}

impl X402SchemeId for V2 {
    fn namespace(&self) -> &str {
        "eip155"
    }
    fn scheme(&self) -> &str {
        "exact"
    }
}

impl X402SchemeFacilitatorBuilder<&Chain> for V1 {
    fn build(
        &self,
        chain: &Chain,
        config: Option<Value>,
    ) -> Result<Box<dyn X402SchemeFacilitator>, Failure> {
        V1Eip155Exact.build(chain.clone(), config)
    }
}

impl X402SchemeFacilitatorBuilder<&Chain> for V2 {
    fn build(
        &self,
        chain: &Chain,
        config: Option<Value>,
    ) -> Result<Box<dyn X402SchemeFacilitator>, Failure> {
        V2Eip155Exact.build(chain.clone(), config)
    }
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let chain_id: u64 = env::var("CHAIN_ID")?.parse()?;
    let rpc_url = env::var("RPC_URL")?;
    let config = Eip155ChainConfig {
        chain_reference: Eip155ChainReference::new(chain_id),
        inner: serde_json::from_value(json!({
            "eip1559": true,
            // Its fastest mode: gas is estimated on the newest block.
            "flashblocks": true,
            "signers": [env::var("SIGNER_KEY")?],
            "rpc": [{ "http": rpc_url }],
        }))?,
    };
    let bare = alloy_provider::ProviderBuilder::new().connect_http(rpc_url.parse()?);
    let _: Value = bare
        .raw_request("anvil_setCode".into(), (VALIDATOR, "0x00"))
        .await?;

    let chain = Arc::new(Eip155ChainProvider::from_config(&config).await?);
    let poll = env::var("POLL_MS").unwrap_or_else(|_| "100".into());
    let every = Duration::from_millis(poll.parse()?);
    chain.inner().client().set_poll_interval(every);
    let schemes = serde_json::from_value(json!([
        { "id": "v1-eip155-exact", "chains": "eip155:*" },
        { "id": "v2-eip155-exact", "chains": "eip155:*" },
    ]))?;
    let chains = ChainRegistry::new(HashMap::from([(config.chain_id(), chain)]));
    let blueprints = SchemeBlueprints::new().and_register(V1).and_register(V2);
    let registry = SchemeRegistry::build(chains, blueprints, &schemes);
    let facilitator = Arc::new(FacilitatorLocal::new(registry));

    let app = handlers::routes().with_state(facilitator);
    let port = env::var("PORT")?;
    let listener = tokio::net::TcpListener::bind(format!("127.0.0.1:{port}")).await?;
    axum::serve(listener, app).await?;
    Ok(())
}
