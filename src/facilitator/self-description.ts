/** What a GET without a query says of an endpoint that takes POST; the fields are those of x402-rs. */
export function describeEndpoint(
  path: string,
  what: 'verify' | 'settle',
): Readonly<Record<string, unknown>> {
  return {
    endpoint: path,
    description: `POST to ${what} x402 payments`,
    body: {
      paymentPayload: 'PaymentPayload',
      paymentRequirements: 'PaymentRequirements',
    },
  };
}
