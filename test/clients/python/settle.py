"""Verifies and settles one payment with the client that was generated from the served description.

python settle.py <folder of the client> <url of the service>, the request on standard input.
"""

import importlib
import json
import pkgutil
import sys

folder, url = sys.argv[1:3]
sys.path.insert(0, folder)

import x402_facilitator as generated  # noqa: E402

# A module that was generated wrongly fails where it is imported, which a client does late.
for module in pkgutil.walk_packages(generated.__path__, "x402_facilitator."):
    importlib.import_module(module.name)

from x402_facilitator import Client  # noqa: E402
from x402_facilitator.api.look_ups import settlement  # noqa: E402
from x402_facilitator.api.x402 import settle_v2, supported_v2, verify_v2  # noqa: E402
from x402_facilitator.models import RequestV2, WalletCall  # noqa: E402

client = Client(base_url=url, raise_on_unexpected_status=True)
request = RequestV2.from_dict(json.load(sys.stdin))

verdict = verify_v2.sync(client=client, body=request)
answer = settle_v2.sync_detailed(client=client, body=request, idempotency_key="order-of-a-test")
again = settle_v2.sync(client=client, body=request)
found = settlement.sync(client=client, id=answer.parsed.extra.settlement_id)
rpc = WalletCall.from_dict({"method": "eth_call", "params": [{"to": "0x"}, "latest"]})

print(
    json.dumps(
        {
            "networks": [kind.network for kind in supported_v2.sync(client=client).kinds],
            "isValid": verdict.is_valid,
            "success": answer.parsed.success,
            "transaction": answer.parsed.transaction,
            "again": again.error_reason.value,
            "state": found.state.value,
            "params": rpc.to_dict()["params"],
        }
    )
)
