import {
  type McpServer,
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
} from '@modelcontextprotocol/server';
import { FacilitatorError } from '../../protocol/errors.js';
import { FileNameInput, type FileTools } from '../tools/file-shapes.js';
import { refusalOf } from '../tools/refusal.js';
import type { Refusing } from './answer.js';

/** The files of the wallet as resources of MCP: `hub://file/<name, percent-encoded>`. */
const PREFIX = 'hub://file/';
/** Files of one page. */
const PAGE = 100;

/** Lets a client list and read the files without a tool. The model sees attached files unchanged. */
export function offerFiles(mcp: McpServer, files: () => FileTools, refusing: Refusing): void {
  const { server } = mcp;
  server.registerCapabilities({ resources: { listChanged: false } });
  server.setRequestHandler('resources/list', ({ params }) =>
    withToolErrors(refusing, async () => {
      const offset = offsetOf(params?.cursor);
      const page = await files()
        .list({ limit: PAGE, offset })
        .catch((error: unknown) => {
          // The local process cannot know beforehand that there is no hub.
          if (!isNotFound(error, refusing)) throw error;
          return { files: [], nextOffset: undefined };
        });
      return {
        resources: page.files.map(({ name, size, at }) => ({
          uri: uriOf(name),
          name,
          size,
          annotations: { lastModified: at },
        })),
        ...(page.nextOffset !== undefined && { nextCursor: String(page.nextOffset) }),
      };
    }),
  );
  server.setRequestHandler('resources/templates/list', () => ({
    resourceTemplates: [
      {
        uriTemplate: `${PREFIX}{name}`,
        name: 'file',
        title: 'File of the wallet',
        description: 'A file of this wallet at the file hub, by its name.',
      },
    ],
  }));
  server.setRequestHandler('resources/read', ({ params: { uri } }) =>
    withToolErrors(refusing, async () => {
      const name = nameIn(uri);
      if (name === undefined) throw new ResourceNotFoundError(uri);
      const { content, encoding, contentType, message } = await files()
        .get({ name })
        .catch((error: unknown) => {
          throw isNotFound(error, refusing) ? new ResourceNotFoundError(uri) : error;
        });
      if (content === undefined) throw new ProtocolError(ProtocolErrorCode.InvalidParams, message);
      const [mimeType = contentType] = contentType.split(';', 1);
      const body = encoding === 'base64' ? { blob: content } : { text: content };
      return { contents: [{ uri, mimeType, ...body }] };
    }),
  );
}

/** Errors have the texts of the tools' errors. */
async function withToolErrors<T>(refusing: Refusing, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ProtocolError) throw error;
    if (!(error instanceof FacilitatorError)) {
      refusing.onFailure(error);
      throw new ProtocolError(
        ProtocolErrorCode.InternalError,
        'Internal error of the wallet. Try again.',
      );
    }
    const { error: why } = refusalOf(error, refusing.publicUrl);
    // The protocol has no code for this kind of error.
    throw new ProtocolError(ProtocolErrorCode.InternalError, why);
  }
}

function isNotFound(error: unknown, { publicUrl }: Refusing): boolean {
  return error instanceof FacilitatorError && refusalOf(error, publicUrl).code === 'not_found';
}

function uriOf(name: string): string {
  return `${PREFIX}${encodeURIComponent(name)}`;
}

function nameIn(uri: string): string | undefined {
  if (!uri.startsWith(PREFIX)) return undefined;
  try {
    const read = FileNameInput.safeParse({ name: decodeURIComponent(uri.slice(PREFIX.length)) });
    return read.data?.name;
  } catch {
    return undefined;
  }
}

/** A cursor is a number of files; any other text starts at the beginning. */
function offsetOf(cursor: string | undefined): number {
  return /^\d{1,6}$/.test(cursor ?? '') ? Number(cursor) : 0;
}
