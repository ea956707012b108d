import { z } from 'zod';
import {
  LINK_LIFETIME_MAX_SECONDS,
  UPLOAD_LIFETIME_MAX_SECONDS,
} from '../../protocol/hub/hub-messages.js';

/** File tools of agents, the same over HTTP and MCP. */

/** Characters of a file inside a message. */
const CONTENT_MAX = 262_144;
const NAME = 'must be 1 to 128 characters, without / \\ " and control characters';
const GIGABYTE = 1_073_741_824;

/** Half of a surrogate pair would arrive as another character. */
export const wholeText = z
  .string()
  .refine((text) => text.isWellFormed(), 'must not have half of a surrogate pair');

export const fileName = z
  .string()
  .max(128, NAME)
  .regex(/^[^/\\"]+$/, NAME)
  .refine((text) => !/[\p{Cc}\p{Cs}]/u.test(text) && !/^\.{1,2}$/.test(text), NAME)
  .describe('Name of the file, such as "report.md"; without / \\ and "');
const contentType = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9!#$&^_.+-]{0,62}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,62}$/,
    'must be a media type such as text/markdown, without parameters',
  );
const sha256 = z.string().regex(/^[0-9a-f]{64}$/, 'must be a SHA-256: 64 hex digits');

export const FilePutInput = z.strictObject({
  name: fileName,
  content: wholeText.min(1).max(CONTENT_MAX),
  encoding: z.enum(['utf8', 'base64']).default('utf8').describe('Encoding of "content"'),
  contentType: contentType.optional(),
});

const FileFacts = {
  name: z.string(),
  size: z.int().describe('Bytes'),
  sha256: z.string(),
};

export const FilePutOutput = z.object(FileFacts);

export const FileUploadInput = z.strictObject({
  name: fileName,
  maxBytes: z.int().min(1).max(GIGABYTE).default(67_108_864),
  contentType: contentType
    .optional()
    .describe('The only media type that is accepted; by default any'),
  sha256: sha256
    .optional()
    .describe('The SHA-256 of the only content that is accepted; by default any'),
  seconds: z
    .int()
    .min(60)
    .max(UPLOAD_LIFETIME_MAX_SECONDS)
    .default(3600)
    .describe('How long the address is valid'),
});

export const FileUploadOutput = z.object({
  url: z.string().describe('Anyone with this URL can store this file, once. Keep the URL secret'),
  method: z.literal('PUT'),
  headers: z
    .record(z.string(), z.string())
    .describe('Headers of the PUT request; its body is the file'),
  maxBytes: z.int(),
  until: z.string(),
});

export const FileNameInput = z.strictObject({ name: fileName });

export const FileGetOutput = z.object({
  ...FileFacts,
  contentType: z.string(),
  content: z.string().optional().describe('Absent if the file is too large for a message'),
  encoding: z.enum(['utf8', 'base64']).optional(),
  message: z.string(),
});

export const FileListInput = z.strictObject({
  limit: z.int().min(1).max(100).default(20),
  offset: z.int().min(0).max(1_000_000).default(0),
});

export const FileListOutput = z.object({
  files: z.array(z.object({ name: z.string(), size: z.int(), at: z.string() })),
  nextOffset: z.int().optional().describe('"offset" of the next page, if there may be more files'),
});

export const FileShareInput = z.strictObject({
  name: fileName,
  seconds: z
    .int()
    .min(60)
    .max(LINK_LIFETIME_MAX_SECONDS)
    .default(86_400)
    .describe('How long the link is valid'),
  once: z.boolean().default(false).describe('true: the link works once'),
  newest: z
    .boolean()
    .default(false)
    .describe(
      'true: the link also opens content that is stored under this name later; false: only the present content',
    ),
});

export const FileShareOutput = z.object({
  url: z.string().describe('Anyone with this URL can read the file'),
  ...FileFacts,
  until: z.string(),
  once: z.boolean(),
});

export const FileUnshareInput = z.strictObject({
  link: z
    .string()
    .max(8192)
    .describe('A "url" of hub_share or hub_put_url, or "all" for every link made until now'),
});

export const FileUnshareOutput = z.object({ takenBack: z.enum(['link', 'all']) });

export const FileDeleteOutput = z.object({ name: z.string(), isDeleted: z.literal(true) });

/** The files of one wallet. Every method throws `WalletError`. */
export interface FileTools {
  put(asked: z.infer<typeof FilePutInput>): Promise<z.infer<typeof FilePutOutput>>;
  uploadAddress(asked: z.infer<typeof FileUploadInput>): Promise<z.infer<typeof FileUploadOutput>>;
  get(asked: z.infer<typeof FileNameInput>): Promise<z.infer<typeof FileGetOutput>>;
  list(asked: z.infer<typeof FileListInput>): Promise<z.infer<typeof FileListOutput>>;
  share(asked: z.infer<typeof FileShareInput>): Promise<z.infer<typeof FileShareOutput>>;
  unshare(asked: z.infer<typeof FileUnshareInput>): Promise<z.infer<typeof FileUnshareOutput>>;
  remove(asked: z.infer<typeof FileNameInput>): Promise<z.infer<typeof FileDeleteOutput>>;
}
