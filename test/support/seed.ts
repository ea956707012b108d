/**
 * What generated tests draw from. A test run of a change draws the same each time, so that what fails
 * was broken by the change; another seed may be given by `TEST_SEED`, and the long forms of these tests
 * draw a new one each time and print it.
 */
export const TEST_SEED = Number(process.env['TEST_SEED'] ?? 20261121);
