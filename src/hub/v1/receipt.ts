import { isoTime } from '../api/lists.js';
import type { StoredObject } from '../storage/storage-provider.js';
import type { Receipt } from './dto/v1.response.js';

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
