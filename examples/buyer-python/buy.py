"""Buys a resource with the stock x402 client for requests."""

import base64
import json
import os
import sys

from eth_account import Account
from x402 import x402ClientSync
from x402.http.clients.requests import x402_requests
from x402.mechanisms.evm.exact.register import register_exact_evm_client

key, asset = os.environ.get("BUYER_KEY"), os.environ.get("ASSET")
network = os.environ.get("NETWORK", "eip155:31337")
url = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:4021/report"
if key is None or asset is None:
    sys.exit("BUYER_KEY and ASSET (the token to pay with) are required.")

client = x402ClientSync()
register_exact_evm_client(client, Account.from_key(key), networks=network)
# Only tokens the client knows are paid with unless they are named. At most 1.00 each time.
allowed = {"network": network, "asset": asset, "max_amount_per_payment": str(10**18)}
client.set_spend_controls({"allowed_assets": [allowed]})

response = x402_requests(client).get(url, timeout=60)
print(response.status_code, response.text)
receipt = response.headers.get("payment-response")
if receipt is not None:
    print("transaction", json.loads(base64.b64decode(receipt))["transaction"])
# A payment that the seller's facilitator found invalid is answered with 402 again, and with the reason.
terms = response.headers.get("payment-required")
if terms is not None:
    print("refused:", json.loads(base64.b64decode(terms)).get("error"))
sys.exit(0 if response.ok else 1)
