/** An answer of a seller, as far as it was read. */
export interface SellerAnswer {
  /** After redirects. */
  readonly url: string;
  readonly status: number;
  /** By names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly isCutOff: boolean;
}

/** A seller's answer to the requests of one check. */
export interface Observed {
  /** The method of the request that the caller of the check named. */
  readonly method: string;
  readonly hasBody: boolean;
  readonly answer: SellerAnswer;
  /** The answer to the same request without its body; absent where the request had no body. */
  readonly bare: SellerAnswer | undefined;
  /** The answer to the preflight request of a browser; absent where none could be sent. */
  readonly preflight: SellerAnswer | undefined;
}
