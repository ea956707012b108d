import type { CodedError } from '../../../../src/platform/http/coded-error.js';

/** Status and code of the {@link CodedError} that comes of it. */
export async function codeOf(work: Promise<unknown>): Promise<[status: number, code: string]> {
  try {
    await work;
  } catch (error) {
    const { status, code } = error as CodedError;
    return [status, code];
  }
  throw new Error('it was answered');
}
