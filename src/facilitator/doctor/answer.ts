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

/** What a seller answered to the requests of one check. */
export interface Observed {
  /** Of the request that was asked for. */
  readonly method: string;
  readonly hasBody: boolean;
  readonly answer: SellerAnswer;
  /** To the same request without its body; absent where it had none. */
  readonly bare: SellerAnswer | undefined;
  /** To the question of a browser whether its script may pay; absent where it could not be asked. */
  readonly preflight: SellerAnswer | undefined;
}
