/** The header of answers that no cache may keep. */
export const NO_STORE = ['Cache-Control', 'no-store'] as const;
