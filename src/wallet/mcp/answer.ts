import type { CallToolResult } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { FacilitatorError } from '../../protocol/errors.js';
import { type Refusal, refusalOf, RefusalOutput } from '../tools/refusal.js';

/** How a tool reports a refusal. */
export interface Refusing {
  /** The URL where the owner changes the rules. */
  readonly publicUrl: string;
  /** Gets unexpected errors; the agent only sees that one happened. */
  readonly onFailure: (error: unknown) => void;
}

/**
 * The schema of a tool's answer: its output, or a refusal. Clients of the older protocol validate refusals with it too,
 * so one object names both; a union at the root would not be an object.
 */
export function answerSchema(output: z.ZodObject): z.ZodObject {
  const required = Object.entries(output.shape)
    .filter(([, field]) => !z.safeParse(field as z.ZodType, undefined).success)
    .map(([name]) => name);
  return output
    .partial()
    .extend({
      refusal: RefusalOutput.optional().describe(
        'Why the request was refused. All other fields are absent then.',
      ),
    })
    .meta({ anyOf: [{ required }, { required: ['refusal'] }] });
}

/** A picture of an answer, in base64. */
export interface Picture {
  readonly mimeType: string;
  readonly data: string;
}

/**
 * Runs a tool. Its result is both text and data; a refusal is not an error of the protocol.
 *
 * @param work - returns the data that `output` describes, and perhaps a picture, which is neither text nor data.
 */
export async function answer(
  output: z.ZodObject,
  work: () => Promise<{ readonly given: unknown; readonly picture?: Picture | undefined }>,
  { publicUrl, onFailure }: Refusing,
): Promise<CallToolResult> {
  try {
    const { given, picture } = await work();
    const data = output.parse(given);
    const pictures = picture === undefined ? [] : [{ type: 'image' as const, ...picture }];
    return { content: [...text(data), ...pictures], structuredContent: data };
  } catch (error) {
    if (!(error instanceof FacilitatorError)) onFailure(error);
    const refusal: Refusal =
      error instanceof FacilitatorError
        ? refusalOf(error, publicUrl)
        : {
            error: 'Internal error of the wallet. Try again.',
            code: 'internal',
          };
    return { isError: true, content: text({ refusal }), structuredContent: { refusal } };
  }
}

function text(data: object): CallToolResult['content'] {
  return [{ type: 'text', text: JSON.stringify(data) }];
}
