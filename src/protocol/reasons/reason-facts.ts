/** Who has to change something before the same request can succeed. */
export type Fault = 'buyer' | 'seller' | 'facilitator' | 'chain';

/** Whether sending the same request again can end better. */
export type Retry = 'never' | 'same' | 'new-payment' | 'later';

/** The facts of one reason. */
export interface ReasonFacts {
  readonly fault: Fault;
  readonly retry: Retry;
  /** 200 unless named: an x402 answer is data, whatever it says. */
  readonly status?: 400 | 401 | 403 | 409 | 413 | 429;
  readonly meaning: string;
  /** Where the reference names no payer with it: in every answer, or where the payload could not be read. */
  readonly isWithoutPayer?: 'always' | 'unread';
}

export type ReasonTable = Readonly<Record<string, ReasonFacts>>;
