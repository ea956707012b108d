import type { FetchAnswer } from '../../platform/fetch/safe-fetch.js';
import { parseSellerJson } from '../../protocol/payment/seller-json.js';
import {
  isJsonObject,
  type JsonObject,
  readOptionalObject,
} from '../../protocol/payment/wire-values.js';
import { WalletError } from '../wallet-error.js';

/** The receipt's name in the metadata of a result, in a payment demand after a failed settlement, or in an error. */
const RECEIPT = 'x402/payment-response';
/** Errors of JSON-RPC by which some servers demand payment, in place of a result. */
const DEMANDING: ReadonlySet<unknown> = new Set([402, -32_042]);

const [ANSWERED, REFUSED, DEMANDED, FAILED] = [200, 400, 402, 500] as const;

/**
 * The answer of a tool in the form of a seller over HTTP: 200 is a result, 402 a demand or an unsettled payment, 500 a
 * result that is an error, 400 an error of the protocol. Demand and receipt are in the same headers as over HTTP.
 *
 * @throws WalletError `fetch_failed` for a reply that is not a tool's answer, and for one that asks its caller
 *   something.
 */
export function toolAnswer(url: string, { result, error }: JsonObject): FetchAnswer {
  if (isJsonObject(error)) {
    const data = readOptionalObject(error['data']);
    const demand = DEMANDING.has(error['code']) ? demandIn(data) : undefined;
    const terms = { demand, receipt: receiptIn(data) };
    return answerOf(url, demand === undefined ? REFUSED : DEMANDED, { error }, terms);
  }
  if (!isJsonObject(result)) throw noAnswer('is not the result of a tool');
  if ((result['resultType'] ?? 'complete') !== 'complete') {
    throw noAnswer('asks the caller a question, which this wallet cannot answer');
  }
  const { content, structuredContent, isError } = result;
  const demand = isError === true ? demandOf(result) : undefined;
  const receipt = receiptIn(result) ?? receiptIn(demand);
  const shown = { content, structuredContent, isError };
  // A result with a failed settlement is not paid; the chain decides.
  const isUnpaid = demand !== undefined || receipt?.['success'] === false;
  const failed = isError === true ? FAILED : ANSWERED;
  return answerOf(url, isUnpaid ? DEMANDED : failed, shown, { demand, receipt });
}

/** In the metadata of a result or the data of an error, at the top or one level below. */
function receiptIn(source: JsonObject | undefined): JsonObject | undefined {
  const beside = readOptionalObject(readOptionalObject(source?.['_meta'])?.[RECEIPT]);
  return beside ?? readOptionalObject(source?.[RECEIPT]);
}

/** A paid tool sends its demand as data; some send it only as text. */
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
  found: { readonly demand?: JsonObject | undefined; readonly receipt?: JsonObject | undefined },
): FetchAnswer {
  const { demand, receipt } = found;
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
