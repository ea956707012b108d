/** The party that has to change something before the same request can succeed. */
export type Fault = 'buyer' | 'seller' | 'facilitator' | 'chain';

/** Whether the same request may succeed later. */
export type Retry = 'never' | 'same' | 'new-payment' | 'later';

/** The facts of one reason. */
export interface ReasonFacts {
  readonly fault: Fault;
  readonly retry: Retry;
  /** 200 if absent, because an x402 refusal is data. */
  readonly status?: 400 | 401 | 403 | 409 | 413 | 429;
  readonly meaning: string;
  /** Set if the reference returns no payer with this reason: always, or only for an unreadable payload. */
  readonly isWithoutPayer?: 'always' | 'unread';
}

export type ReasonTable = Readonly<Record<string, ReasonFacts>>;
