import type { McpServer, ToolAnnotations } from '@modelcontextprotocol/server';
import { type z } from 'zod';
import type { WalletTools } from '../tools/shapes.js';
import { answer, answerSchema, type Picture, type Refusing } from './answer.js';
import { ownerQuestion } from './owner-question.js';

interface ToolFacts<I extends z.ZodObject, O extends z.ZodObject> {
  readonly title: string;
  readonly description: string;
  readonly input: I;
  readonly output: O;
  readonly annotations: Required<Omit<ToolAnnotations, 'title'>>;
  /** Of every wallet when absent. */
  readonly isOffered?: (tools: WalletTools) => boolean;
  readonly run: (
    tools: WalletTools,
    given: z.output<I>,
  ) => Promise<z.output<O> & { readonly qr?: Picture }>;
}

/** Adds a tool to a server, where the wallet offers it. */
export type Tool = (
  server: McpServer,
  name: string,
  tools: WalletTools,
  refusing: Refusing,
) => void;

export function tool<I extends z.ZodObject, O extends z.ZodObject>(facts: ToolFacts<I, O>): Tool {
  const { input, output, isOffered, run, ...shown } = facts;
  const outputSchema = answerSchema(output);
  return (server, name, tools, refusing) => {
    if (isOffered?.(tools) === false) return;
    const inputSchema: z.ZodObject = input;
    server.registerTool(name, { ...shown, inputSchema, outputSchema }, async (given, context) => {
      const work = async () => {
        const ran = await run(tools, input.parse(given));
        return { given: ran, picture: ran.qr };
      };
      const result = await answer(output, work, refusing);
      return ownerQuestion(server, context, result) ?? result;
    });
  };
}

/** Changes nothing and asks only this service. */
export const LOOKS_INSIDE = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
} as const;
/** Changes nothing, and asks a chain or a seller. */
export const LOOKS_OUTSIDE = { ...LOOKS_INSIDE, openWorldHint: true } as const;
/** A payment cannot be undone; but one `intentId` pays once, however often it is sent. */
export const SPENDS = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: true,
  openWorldHint: true,
} as const;
