/** Header of answers that must not be cached. */
export const NO_STORE = ['Cache-Control', 'no-store'] as const;
