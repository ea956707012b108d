"""Sells a resource with the stock x402 middleware for Flask."""

import os
import sys

from flask import Flask, jsonify
from werkzeug.serving import make_server
from x402 import x402ResourceServerSync
from x402.http import FacilitatorConfig, HTTPFacilitatorClientSync, PaymentOption
from x402.http.middleware.flask import payment_middleware
from x402.http.types import RouteConfig
from x402.mechanisms.evm.exact import ExactEvmServerScheme
from x402.schemas import AssetAmount

facilitator_url = os.environ.get("FACILITATOR_URL", "http://127.0.0.1:4022")
network = os.environ.get("NETWORK", "eip155:31337")
asset, pay_to = os.environ.get("ASSET"), os.environ.get("PAY_TO")
port = int(os.environ.get("PORT", "4031"))
if asset is None or pay_to is None:
    sys.exit("ASSET (a token) and PAY_TO (who is paid) are required.")

token = {
    "name": os.environ.get("ASSET_NAME", "Sandbox USD"),
    "version": os.environ.get("ASSET_VERSION", "1"),
}
price = AssetAmount(amount="100000000000000000", asset=asset, extra=token)
offer = PaymentOption(scheme="exact", network=network, pay_to=pay_to, price=price)

app = Flask(__name__)
# The three lines that make it a seller.
facilitator = HTTPFacilitatorClientSync(FacilitatorConfig(url=facilitator_url))
server = x402ResourceServerSync(facilitator).register(network, ExactEvmServerScheme())
payment_middleware(app, {"GET /report": RouteConfig(accepts=offer, description="A report")}, server)


@app.get("/report")
def report():
    return jsonify(report="All is well.")


shop = make_server("127.0.0.1", port, app, threaded=True)
print(f"selling at http://127.0.0.1:{port}/report", flush=True)
shop.serve_forever()
