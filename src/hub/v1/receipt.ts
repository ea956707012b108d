import { isoTime } from '../api/lists.js';
import type { StoredObject } from '../storage/storage-provider.js';

/** A file, as clients of `/v1` read it. */
export interface Receipt {
  readonly bucket: string;
  readonly owner: string;
  readonly key: string;
  /** Bytes. */
  readonly size: number;
  /** Hex. */
  readonly sha256: string;
  /** The original says `committed` once a file is on a chain. This hub submits nothing to a chain. */
  readonly status: 'staged';
  readonly availability: 'pending';
  readonly createdAt: string;
}

export function receiptOf({ bucket, owner, id, size, sha256, order }: StoredObject): Receipt {
  return {
    bucket,
    owner,
    key: id,
    size,
    sha256,
    status: 'staged',
    availability: 'pending',
    createdAt: isoTime(order),
  };
}
