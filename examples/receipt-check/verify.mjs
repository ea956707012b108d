import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { compactVerify, createRemoteJWKSet } from 'jose';
import { verifyTypedData } from 'viem';

const [file] = process.argv.slice(2);
const { FACILITATOR_URL = 'http://127.0.0.1:4022' } = process.env;
if (file === undefined) {
  console.error('node verify.mjs receipt.json');
  process.exit(1);
}
const { receipt, eip712, jws } = JSON.parse(readFileSync(file, 'utf8'));
const keys = new URL('/.well-known/jwks.json', FACILITATOR_URL);

// The JWS: its payload is what was signed, whatever stands beside it.
const { payload } = await compactVerify(jws, createRemoteJWKSet(keys));
const signed = JSON.parse(new TextDecoder().decode(payload));

// The typed data: the signer has to be one that the facilitator names.
const { x402_receipt_signers: signers } = await (await fetch(keys)).json();
const { signer, ...typedData } = eip712;
const isTyped =
  signers.includes(signer) && (await verifyTypedData({ ...typedData, address: signer }));
const settlementId = `0x${Buffer.from(signed.settlementId, 'base64url').toString('hex')}`;

// All three have to say the same.
const isSame =
  isDeepStrictEqual(signed, receipt) &&
  isDeepStrictEqual({ ...signed, settlementId }, eip712.message);
if (!isTyped || !isSame) throw new Error('this receipt is not genuine');
console.log(`${signed.payer} paid ${signed.payTo} ${signed.amount} of ${signed.asset}`);
console.log(`transaction ${signed.transaction}, log ${signed.logIndex}, ${signed.finality}`);
