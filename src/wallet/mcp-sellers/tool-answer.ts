import type { FetchAnswer } from '../../platform/fetch/safe-fetch.js';
import { parseSellerJson } from '../../protocol/payment/seller-json.js';
import {
  isJsonObject,
  type JsonObject,
  readOptionalObject,
} from '../../protocol/payment/wire-values.js';
import { WalletError } from '../wallet-error.js';

/**
 * The receipt's name in the metadata of a result, in a demand after a failed settlement, or in an
 * error.
 */
const RECEIPT = 'x402/payment-response';
/** Errors of JSON-RPC by which some servers demand payment, in place of a result. */
const DEMANDING: ReadonlySet<unknown> = new Set([402, -32_042]);

const [ANSWERED, REFUSED, DEMANDED, FAILED] = [200, 400, 402, 500] as const;

/**
 * What a tool answered, as a seller over HTTP would have: 200 is a result, 402 a demand or a payment that was not
 * settled, 500 a result that says it is an error, 400 an error of the protocol. Demand and receipt are in the headers
 * they have over HTTP.
 *
 * @throws WalletError `fetch_failed` for what is no answer of a tool, and for one that asks its caller something.
 */
export function toolAnswer(url: string, { result, error }: JsonObject): FetchAnswer {
  if (isJsonObject(error)) {
    const data = readOptionalObject(error['data']);
    const demand = DEMANDING.has(error['code']) ? demandIn(data) : undefined;
    const terms = { demand, receipt: receiptIn(data) };
    return answerOf(url, demand === undefined ? REFUSED : DEMANDED, { error }, terms);
  }
  if (!isJsonObject(result)) throw noAnswer('is no result of a tool');
  if ((result['resultType'] ?? 'complete') !== 'complete') {
    throw noAnswer('asks its caller a question, which this wallet cannot answer');
  }
  const { content, structuredContent, isError } = result;
  const demand = isError === true ? demandOf(result) : undefined;
  const receipt = receiptIn(result) ?? receiptIn(demand);
  const shown = { content, structuredContent, isError };
  // A result beside a settlement that failed is not paid for: the chain says whether it is.
  const isUnpaid = demand !== undefined || receipt?.['success'] === false;
  const failed = isError === true ? FAILED : ANSWERED;
  return answerOf(url, isUnpaid ? DEMANDED : failed, shown, { demand, receipt });
}

/** In the metadata of a result or in the data of an error, at the top or one level below. */
function receiptIn(told: JsonObject | undefined): JsonObject | undefined {
  const beside = readOptionalObject(readOptionalObject(told?.['_meta'])?.[RECEIPT]);
  return beside ?? readOptionalObject(told?.[RECEIPT]);
}

/** A paid tool demands as data; some repeat it as text alone. */
function demandOf({ structuredContent, content }: JsonObject): JsonObject | undefined {
  const [first] = Array.isArray(content) ? (content as readonly unknown[]) : [];
  const { type, text } = readOptionalObject(first) ?? {};
  const isText = type === 'text' && typeof text === 'string';
  return demandIn(structuredContent) ?? (isText ? demandIn(parseSellerJson(text)) : undefined);
}

function demandIn(value: unknown): JsonObject | undefined {
  if (!isJsonObject(value)) return undefined;
  return 'x402Version' in value && Array.isArray(value['accepts']) ? value : undefined;
}

function answerOf(
  url: string,
  status: number,
  shown: JsonObject,
  told: { readonly demand?: JsonObject | undefined; readonly receipt?: JsonObject | undefined },
): FetchAnswer {
  const { demand, receipt } = told;
  return {
    url,
    status,
    isCutOff: false,
    body: Buffer.from(JSON.stringify(shown)),
    headers: {
      'content-type': 'application/json',
      ...(demand !== undefined && { 'payment-required': base64(demand) }),
      ...(receipt !== undefined && { 'payment-response': base64(receipt) }),
    },
  };
}

function base64(value: JsonObject): string {
  return Buffer.from(JSON.stringify(value)).toString('base64');
}

function noAnswer(what: string): WalletError {
  return new WalletError('fetch_failed', `The answer of the MCP server ${what}.`);
}
