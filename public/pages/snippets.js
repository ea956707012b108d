/**
 * How an entry of the catalogue is bought, in three languages. Everything of an entry is a stranger's: it stands
 * in a snippet as one string literal of printable ASCII and as nothing else.
 */

const METHODS = ['GET', 'HEAD', 'DELETE', 'POST', 'PUT', 'PATCH'];
const TEXT_MAX = 2048;
const JSON_MAX = 4096;
const PARAMETERS_MAX = 32;

const hex = (value, width) => value.toString(16).padStart(width, '0');

/** Half of a pair, which no language but JavaScript can write. */
const isHalf = (code) => code >= 0xd800 && code <= 0xdfff;

/** A literal in double quotes. No quote, line end, backtick trick or change of direction is left to be seen. */
function literal(text, wide) {
  const characters = [...String(text).slice(0, JSON_MAX)].map((character) => {
    const code = character.codePointAt(0);
    if (character === '"' || character === '\\') return `\\${character}`;
    if (code >= 0x20 && code <= 0x7e) return character;
    if (isHalf(code)) return '\\ufffd';
    return code > 0xffff ? wide(code) : `\\u${hex(code, 4)}`;
  });
  return `"${characters.join('')}"`;
}

export const literals = {
  typescript: (text) => literal(text, (code) => `\\u{${hex(code, 1)}}`),
  python: (text) => literal(text, (code) => `\\U${hex(code, 8)}`),
  go: (text) => literal(text, (code) => `\\U${hex(code, 8)}`),
};

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const textOf = (value) => (typeof value === 'string' ? value : JSON.stringify(value)) ?? '';

/** A URL of the web without a user in it, or `undefined`. */
export function webUrl(said) {
  if (typeof said !== 'string' || said.length > TEXT_MAX) return undefined;
  try {
    const url = new URL(said);
    const isWeb = url.protocol === 'http:' || url.protocol === 'https:';
    return isWeb && url.username === '' && url.password === '' ? url : undefined;
  } catch {
    return undefined;
  }
}

/** What a snippet is written with; the first offer of a scheme that the stock clients pay. */
function termsOf(entry) {
  const offers = Array.isArray(entry.accepts) ? entry.accepts.filter(isObject) : [];
  const version = entry.x402Version === 1 ? 1 : 2;
  const schemes = version === 1 ? ['exact'] : ['exact', 'upto'];
  const offer = offers.find(({ scheme }) => schemes.includes(scheme));
  if (offer === undefined) return undefined;
  const { scheme, network, asset, amount, maxAmountRequired } = offer;
  return {
    version,
    isUpto: scheme === 'upto',
    network: textOf(network),
    asset: textOf(asset),
    amount: textOf(amount ?? maxAmountRequired),
  };
}

const inputOf = (entry) => {
  const input = entry.discoveryInfo?.input;
  return isObject(input) ? input : {};
};

/** The request an entry stands for, with the values its seller gives as an example. */
function requestOf(entry) {
  const input = inputOf(entry);
  const url = webUrl(entry.exampleUrl ?? entry.resource);
  if (url === undefined) return undefined;
  const parameters = isObject(input.queryParams) ? Object.entries(input.queryParams) : [];
  for (const [name, value] of parameters.slice(0, PARAMETERS_MAX)) {
    url.searchParams.set(name, textOf(value));
  }
  if (url.href.length > JSON_MAX) url.search = '';
  const said = entry.method ?? input.method;
  const method = METHODS.includes(said) ? said : 'GET';
  const takesBody = ['POST', 'PUT', 'PATCH'].includes(method);
  const isForm = takesBody && input.bodyType === 'form-data';
  const isText = input.bodyType === 'text';
  const body = isText ? textOf(input.body ?? '') : (JSON.stringify(input.body ?? {}) ?? '{}');
  return {
    url: url.href,
    method,
    isForm,
    ...(takesBody && !isForm && body.length <= JSON_MAX && { body }),
    type: isText ? 'text/plain' : 'application/json',
  };
}

function toolOf(entry) {
  const input = inputOf(entry);
  const example = JSON.stringify(isObject(input.example) ? input.example : {});
  const server = webUrl(entry.resource)?.href;
  return {
    tool: textOf(entry.toolName ?? input.toolName),
    given: example.length > JSON_MAX ? '{}' : example,
    isKnown: server !== undefined,
    // Reserved: it leads to nobody.
    server: server ?? 'https://server.example/mcp',
    isSse: input.transport === 'sse',
  };
}

const lines = (...parts) =>
  parts
    .flat()
    .filter((part) => part !== undefined)
    .join('\n') + '\n';
const when = (condition, ...parts) => (condition ? parts : []);

const FORM = 'Its body is form data; what it takes is in the entry.';
const ASK = 'The entry names a tool and not its server: ask the seller for the URL.';

function typescript(terms, request, tool) {
  const quote = literals.typescript;
  const [name, path] = terms.isUpto ? ['UptoEvmScheme', 'upto'] : ['ExactEvmScheme', 'exact'];
  const scheme = terms.version === 1 ? 'registerExactEvmScheme' : name;
  const transport = tool?.isSse ? 'SSEClientTransport' : 'StreamableHTTPClientTransport';
  const module = tool?.isSse ? 'sse.js' : 'streamableHttp.js';
  return lines(
    ...when(
      tool !== undefined,
      'import { Client } from "@modelcontextprotocol/sdk/client/index.js";',
      `import { ${transport} } from "@modelcontextprotocol/sdk/client/${module}";`,
    ),
    'import { x402Client } from "@x402/core/client";',
    `import { ${scheme} } from "@x402/evm/${path}/client";`,
    tool === undefined
      ? 'import { wrapFetchWithPayment } from "@x402/fetch";'
      : 'import { wrapMCPClientWithPayment } from "@x402/mcp";',
    'import { privateKeyToAccount } from "viem/accounts";',
    '',
    'const account = privateKeyToAccount(process.env.BUYER_KEY as `0x${string}`);',
    'const client = new x402Client().setSpendControls({',
    '  allowedAssets: [',
    '    {',
    `      network: ${quote(terms.network)},`,
    `      asset: ${quote(terms.asset)},`,
    `      maxAmountPerPayment: ${quote(terms.amount)},`,
    '    },',
    '  ],',
    '});',
    terms.version === 1
      ? 'registerExactEvmScheme(client, { signer: account });'
      : `client.register(${quote(terms.network)}, new ${scheme}(account));`,
    '',
    ...(tool === undefined ? fetched(request, quote) : called(tool, transport, quote)),
  );
}

const fetched = ({ url, method, body, type, isForm }, quote) => [
  ...when(isForm, `// ${FORM}`),
  `const response = await wrapFetchWithPayment(fetch, client)(${quote(url)}, {`,
  `  method: ${quote(method)},`,
  ...when(
    body !== undefined,
    `  headers: { "content-type": ${quote(type)} },`,
    `  body: ${quote(body ?? '')},`,
  ),
  '});',
  'console.log(response.status, await response.text());',
];

const called = ({ tool, given, server, isKnown }, transport, quote) => [
  ...when(!isKnown, `// ${ASK}`),
  'const mcp = new Client({ name: "buyer", version: "1.0.0" });',
  `await mcp.connect(new ${transport}(new URL(${quote(server)})));`,
  'const paying = wrapMCPClientWithPayment(mcp, client, { autoPayment: true });',
  `console.log(await paying.callTool(${quote(tool)}, JSON.parse(${quote(given)})));`,
];

function python(terms, request, tool) {
  const quote = literals.python;
  const isTool = tool !== undefined;
  const [module, open] = tool?.isSse
    ? ['sse', 'sse_client']
    : ['streamable_http', 'streamablehttp_client'];
  return lines(
    ...when(isTool, 'import asyncio', 'import json'),
    'import os',
    '',
    'from eth_account import Account',
    ...when(isTool, 'from mcp import ClientSession', `from mcp.client.${module} import ${open}`),
    isTool ? 'from x402 import x402Client' : 'from x402 import x402ClientSync',
    isTool
      ? 'from x402.mcp import x402MCPSession'
      : 'from x402.http.clients.requests import x402_requests',
    ...when(
      terms.isUpto,
      'from x402.mechanisms.evm import EthAccountSigner',
      'from x402.mechanisms.evm.upto import UptoEvmClientScheme',
    ),
    ...when(
      !terms.isUpto,
      'from x402.mechanisms.evm.exact.register import register_exact_evm_client',
    ),
    '',
    'account = Account.from_key(os.environ["BUYER_KEY"])',
    isTool ? 'client = x402Client()' : 'client = x402ClientSync()',
    pythonScheme(terms, quote),
    'client.set_spend_controls({"allowed_assets": [{',
    `    "network": ${quote(terms.network)},`,
    `    "asset": ${quote(terms.asset)},`,
    `    "max_amount_per_payment": ${quote(terms.amount)},`,
    '}]})',
    '',
    ...(isTool ? pythonTool(tool, open, quote) : pythonRequest(request, quote)),
  );
}

function pythonScheme({ version, isUpto, network }, quote) {
  if (isUpto) {
    return `client.register(${quote(network)}, UptoEvmClientScheme(EthAccountSigner(account)))`;
  }
  // Without a network it speaks version 1 too.
  return version === 1
    ? 'register_exact_evm_client(client, account)'
    : `register_exact_evm_client(client, account, networks=${quote(network)})`;
}

const pythonRequest = ({ url, method, body, type, isForm }, quote) => [
  ...when(isForm, `# ${FORM}`),
  'response = x402_requests(client).request(',
  `    ${quote(method)},`,
  `    ${quote(url)},`,
  ...when(
    body !== undefined,
    `    headers={"content-type": ${quote(type)}},`,
    `    data=${quote(body ?? '')}.encode(),`,
  ),
  '    timeout=60,',
  ')',
  'print(response.status_code, response.text)',
];

const pythonTool = ({ tool, given, server, isKnown }, open, quote) => [
  '',
  'async def buy():',
  ...when(!isKnown, `    # ${ASK}`),
  `    async with ${open}(${quote(server)}) as streams:`,
  '        async with ClientSession(streams[0], streams[1]) as session:',
  '            paying = x402MCPSession(session, client, True)',
  '            await paying.initialize()',
  `            print(await paying.call_tool(${quote(tool)}, json.loads(${quote(given)})))`,
  '',
  '',
  'asyncio.run(buy())',
];

const GO = 'github.com/x402-foundation/x402/go/v2';

function go(terms, request, tool) {
  const quote = literals.go;
  const isTool = tool !== undefined;
  const hasBody = request?.body !== undefined;
  const path = terms.isUpto
    ? 'upto/client'
    : terms.version === 1
      ? 'exact/v1/client'
      : 'exact/client';
  return lines(
    'package main',
    '',
    'import (',
    ...when(isTool, '\t"context"', '\t"encoding/json"'),
    '\t"fmt"',
    ...when(!isTool, '\t"io"'),
    '\t"log"',
    ...when(!isTool, '\t"net/http"'),
    '\t"os"',
    ...when(hasBody, '\t"strings"'),
    '',
    ...when(isTool, '\tmcpsdk "github.com/modelcontextprotocol/go-sdk/mcp"'),
    `\tx402 "${GO}"`,
    isTool ? `\t"${GO}/mcp"` : `\tx402http "${GO}/http"`,
    `\tevm "${GO}/mechanisms/evm/${path}"`,
    `\tsigners "${GO}/signers/evm"`,
    ')',
    '',
    'func main() {',
    '\tsigner, err := signers.NewClientSignerFromPrivateKey(os.Getenv("BUYER_KEY"))',
    ...OR_FAIL,
    '\tclient := x402.Newx402Client().SetSpendControls(x402.SpendControls{',
    '\t\tAllowedAssets: []x402.SpendControlAsset{{',
    `\t\t\tNetwork:             ${quote(terms.network)},`,
    `\t\t\tAsset:               ${quote(terms.asset)},`,
    `\t\t\tMaxAmountPerPayment: ${quote(terms.amount)},`,
    '\t\t}},',
    `\t}).${goScheme(terms, quote)}`,
    '',
    ...(isTool ? goTool(tool, quote) : goRequest(request, quote)),
    '}',
  );
}

const OR_FAIL = ['\tif err != nil {', '\t\tlog.Fatal(err)', '\t}'];

function goScheme({ version, isUpto, network }, quote) {
  if (version === 1) return `RegisterV1(${quote(network)}, evm.NewExactEvmSchemeV1(signer))`;
  const name = isUpto ? 'NewUptoEvmScheme' : 'NewExactEvmScheme';
  return `Register(${quote(network)}, evm.${name}(signer, nil))`;
}

const goRequest = ({ url, method, body, type, isForm }, quote) => [
  ...when(isForm, `\t// ${FORM}`),
  `\trequest, err := http.NewRequest(${quote(method)}, ${quote(url)}, ${
    body === undefined ? 'nil' : `strings.NewReader(${quote(body)})`
  })`,
  ...OR_FAIL,
  ...when(body !== undefined, `\trequest.Header.Set("Content-Type", ${quote(type)})`),
  '\tpaying := x402http.WrapHTTPClientWithPayment(http.DefaultClient, x402http.Newx402HTTPClient(client))',
  '\tresponse, err := paying.Do(request)',
  ...OR_FAIL,
  '\tdefer response.Body.Close()',
  '\tbody, err := io.ReadAll(response.Body)',
  ...OR_FAIL,
  '\tfmt.Println(response.StatusCode, string(body))',
];

const goTool = ({ tool, given, server, isKnown, isSse }, quote) => [
  '\tctx := context.Background()',
  ...when(!isKnown, `\t// ${ASK}`),
  `\ttransport := &mcpsdk.${isSse ? 'SSEClientTransport' : 'StreamableClientTransport'}{Endpoint: ${quote(server)}}`,
  '\tbuyer := mcpsdk.NewClient(&mcpsdk.Implementation{Name: "buyer", Version: "1.0.0"}, nil)',
  '\tsession, err := buyer.Connect(ctx, transport, nil)',
  ...OR_FAIL,
  '\tvar given map[string]interface{}',
  `\tif err := json.Unmarshal([]byte(${quote(given)}), &given); err != nil {`,
  '\t\tlog.Fatal(err)',
  '\t}',
  '\tpaying := mcp.NewX402MCPClient(session, client, mcp.Options{AutoPayment: mcp.BoolPtr(true)})',
  `\tresult, err := paying.CallTool(ctx, ${quote(tool)}, given)`,
  ...OR_FAIL,
  '\tfmt.Println(result)',
];

/** Of each language its name and text; none where the stock clients cannot pay any offer of the entry. */
export function snippetsOf(entry) {
  const terms = termsOf(entry);
  const tool = entry.type === 'mcp' ? toolOf(entry) : undefined;
  const request = tool === undefined ? requestOf(entry) : undefined;
  if (terms === undefined || (tool ?? request) === undefined) return [];
  return [
    ['TypeScript', typescript(terms, request, tool)],
    ['Python', python(terms, request, tool)],
    ['Go', go(terms, request, tool)],
  ];
}
