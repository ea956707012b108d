/**
 * Bytes of each name in JSON, where a control character takes six. The index keeps names in memory as long as the
 * payload exists.
 */
export const NAME_MAX_BYTES = { owner: 256, bucket: 256, id: 512, kind: 64 } as const;

/** Kinds of buckets. */
export const BUCKET_KINDS = ['memory', 'knowledgebase', 'file', 'model', 'dataset'] as const;

/** Whether a name may stand in this place. */
export function isShortName(place: keyof typeof NAME_MAX_BYTES, name: string): boolean {
  return keptBytes(name) <= NAME_MAX_BYTES[place];
}

function keptBytes(name: string): number {
  return Buffer.byteLength(JSON.stringify(name)) - 2;
}
