//! Sells a resource with the stock x402 middleware for axum.

use std::env;

use axum::{Json, Router, routing::get};
use serde_json::{Value, json};
use x402_axum::X402Middleware;
use x402_chain_eip155::V2Eip155Exact;
use x402_chain_eip155::chain::{
    AssetTransferMethod, ChecksummedAddress, Eip155ChainReference, Eip155TokenDeployment,
};

fn setting(name: &str, default: &str) -> String {
    env::var(name).unwrap_or_else(|_| default.to_owned())
}

fn required(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("{name} is required"))
}

async fn report() -> Json<Value> {
    Json(json!({ "report": "All is well." }))
}

#[tokio::main]
async fn main() {
    let facilitator = setting("FACILITATOR_URL", "http://127.0.0.1:4022");
    let chain_id: u64 = setting("CHAIN_ID", "31337").parse().expect("CHAIN_ID is a number");
    let pay_to: ChecksummedAddress = required("PAY_TO").parse().expect("PAY_TO is an address");
    let port = setting("PORT", "4031");
    let token = Eip155TokenDeployment {
        chain_reference: Eip155ChainReference::new(chain_id),
        address: required("ASSET").parse().expect("ASSET is an address"),
        decimals: 18,
        transfer_method: AssetTransferMethod::Eip3009 {
            name: setting("ASSET_NAME", "Sandbox USD"),
            version: setting("ASSET_VERSION", "1"),
        },
    };

    // The three lines that make it a seller.
    let x402 = X402Middleware::new(&facilitator);
    let price = V2Eip155Exact::price_tag(pay_to, token.amount(100_000_000_000_000_000u64));
    let shop = Router::new().route("/report", get(report).layer(x402.with_price_tag(price)));

    let listener = tokio::net::TcpListener::bind(format!("127.0.0.1:{port}"))
        .await
        .expect("the port is free");
    println!("selling at http://127.0.0.1:{port}/report");
    axum::serve(listener, shop).await.expect("the server runs");
}
