import { describe, expect, it } from '@jest/globals';
import { Type } from 'class-transformer';
import { ArrayMaxSize, IsArray, ValidateNested } from 'class-validator';
import { IgnoresUnknown, RequestPipe } from './request.pipe.js';
import {
  IsAtomicAmount,
  IsEvmAddress,
  IsOneOf,
  IsQueryInteger,
  IsText,
  IsWholeNumber,
} from './validators.js';

const ADDRESS = `0x${'aB'.repeat(20)}`;

class TermsDto {
  @IsAtomicAmount()
  readonly amount!: string;

  @IsWholeNumber({ minimum: 1, maximum: 9 }, { optional: true })
  readonly days?: number;
}

class OrderDto {
  @IsEvmAddress({ each: { min: 1, max: 2 } })
  readonly payees!: string[];

  @IsArray()
  @ArrayMaxSize(20)
  @ValidateNested({ each: true })
  @Type(() => TermsDto)
  readonly terms!: TermsDto[];
}

class ListDto {
  @IsOneOf(['open', 'sold'], { optional: true })
  readonly sale?: string;

  @IsQueryInteger({ minimum: 1, maximum: 50, default: 10 })
  readonly limit: number = 10;
}

@IgnoresUnknown()
class TolerantDto extends ListDto {}

const pipe = new RequestPipe();
const body = (value: unknown): Promise<unknown> =>
  pipe.transform(value, { type: 'body', metatype: OrderDto });
const query = (value: unknown, metatype: typeof ListDto = ListDto): Promise<unknown> =>
  pipe.transform(value, { type: 'query', metatype });
const order = (more: object = {}): object => ({
  payees: [ADDRESS],
  terms: [{ amount: '1' }],
  ...more,
});

class NoteDto {
  @IsText({ maxLength: 20 })
  readonly note!: string;

  @IsText({ maxLength: 20 }, { optional: true, each: { max: 2 } })
  readonly tags?: string[];
}

describe('a text with half of a surrogate pair', () => {
  const note = (value: unknown): Promise<unknown> =>
    pipe.transform(value, { type: 'body', metatype: NoteDto });

  it.each<[object, string]>([
    [{ note: 'a\ud800' }, 'note'],
    [{ note: 'a', tags: ['b', '\udc00c'] }, 'tags'],
  ])('is refused for that cause: %j', async (sent, path) => {
    await expect(note(sent)).rejects.toMatchObject({
      status: 400,
      code: 'invalid_request',
      message: `${path} must not have half of a surrogate pair.`,
      place: { path, expected: 'text without half of a surrogate pair' },
    });
  });

  it('is not one with whole pairs', async () => {
    expect(await note({ note: '\u{1f600}' })).toEqual({ note: '\u{1f600}' });
  });
});

describe('a body', () => {
  it('is an object of its class, with those of nested ones', async () => {
    const read = await body(order());
    expect(read).toBeInstanceOf(OrderDto);
    expect((read as OrderDto).terms[0]).toBeInstanceOf(TermsDto);
    expect(read).toEqual(order());
  });

  it.each<[unknown, string]>([
    [null, 'The body must be a JSON object.'],
    [[], 'The body must be a JSON object.'],
    [[order()], 'The body must be a JSON object.'],
    ['x', 'The body must be a JSON object.'],
    [7, 'The body must be a JSON object.'],
    [order({ payees: ADDRESS }), 'payees must be a list of 1 to 2.'],
    [order({ payees: null }), 'payees must be a list of 1 to 2.'],
    [order({ payees: [] }), 'payees must be a list of 1 to 2.'],
    [order({ payees: ['<x>'] }), 'payees each must be an address: 0x and 40 hex digits.'],
    [order({ terms: [{ amount: 1 }] }), 'terms[0].amount must be atomic units as decimal text.'],
    [
      order({ terms: [{ amount: '1', days: '2' }] }),
      'terms[0].days must be a whole number, 1 to 9.',
    ],
    [
      order({ terms: [{ amount: '1', days: null }] }),
      'terms[0].days must be a whole number, 1 to 9.',
    ],
    [order({ terms: [{ amount: '1', evil: '<x>' }] }), 'terms[0]: a field is not known here.'],
    [order({ '<evil>': 1 }), 'a field is not known here; known are payees, terms.'],
    [order({ hasOwnProperty: 1 }), 'a field is not known here; known are payees, terms.'],
    [
      order({ constructor: { prototype: {} } }),
      'a field is not known here; known are payees, terms.',
    ],
    [
      JSON.parse('{"__proto__":{"payees":[]}}'),
      'a field is not known here; known are payees, terms.',
    ],
  ])('is refused by the names of fields, and without a value: %j', async (value, message) => {
    await expect(body(value)).rejects.toMatchObject({
      status: 400,
      code: 'invalid_request',
      message,
    });
  });

  it.each<[unknown, object]>([
    [[], { path: 'body', expected: 'a JSON object', got: 'a list' }],
    [order({ '<evil>': 1 }), { path: 'body', expected: 'only payees, terms' }],
    [order({ payees: null }), { path: 'payees', expected: 'a list of 1 to 2', got: 'null' }],
    [{ terms: [] }, { path: 'payees', expected: 'a list of 1 to 2', got: 'nothing' }],
    [
      order({ payees: ['<x>'] }),
      { path: 'payees', expected: 'each an address: 0x and 40 hex digits', got: 'a list' },
    ],
    [
      order({ terms: [{ amount: 'a secret', days: 'x' }] }),
      {
        path: 'terms[0].amount',
        expected: 'atomic units as decimal text',
        got: 'text of 8 characters',
      },
    ],
    [
      order({ terms: [{ amount: '1', evil: '<x>' }] }),
      { path: 'terms[0]', expected: 'only known fields' },
    ],
  ])('is refused with the first wrong place: %j', async (value, place) => {
    await expect(body(value)).rejects.toHaveProperty('place', place);
  });

  it.each([
    '[{"amount":"1","__proto__":{"polluted":true}}]',
    '[{"amount":"1","constructor":"x"}]',
    '[{"amount":"1","constructor":{"prototype":{}}}]',
    '{"a":[{"constructor":null}]}',
  ])('is refused by a name of prototypes wherever it is: %s', async (sent) => {
    const terms: unknown = JSON.parse(sent);
    await expect(body(order({ terms }))).rejects.toMatchObject({
      status: 400,
      code: 'invalid_request',
      message: 'A field must not be named __proto__ or constructor.',
    });
    expect({}).not.toHaveProperty('polluted');
  });

  it('is refused where it is nested deeper than anything is that is sent', async () => {
    const deep: unknown = JSON.parse(`${'['.repeat(8000)}${']'.repeat(8000)}`);
    await expect(body(order({ terms: deep }))).rejects.toMatchObject({
      status: 400,
      message: 'The body is nested too deep, or has too many values.',
    });
  });

  it('costs no more than its class has fields, however many names are sent', async () => {
    let reads = 0;
    const counted = (of: Record<string, unknown>): object =>
      new Proxy(of, {
        get: (target, name) => {
          reads += 1;
          return Reflect.get(target, name) as unknown;
        },
      });
    const many = Object.fromEntries(Array.from({ length: 19_000 }, (_, at) => [String(at), 1]));
    await expect(body(counted({ ...many, ...order() }))).rejects.toMatchObject({
      message: 'a field is not known here; known are payees, terms.',
    });
    expect(reads).toBeLessThan(19_100);
    const query = await pipe.transform(
      { ...many, limit: '2' },
      { type: 'query', metatype: TolerantDto },
    );
    expect({ ...(query as object) }).toEqual({ limit: 2 });
    await expect(body(order({ payees: many }))).rejects.toMatchObject({
      message: 'The body is nested too deep, or has too many values.',
    });
  });

  it('is answered with a bounded message, however much is wrong', async () => {
    const terms = Array.from({ length: 20 }, () => ({ amount: 'x'.repeat(1000) }));
    const { message } = (await body(order({ terms })).catch((error: unknown) => error)) as Error;
    expect(message.length).toBeLessThan(1200);
    expect(message).toMatch(/; …$/);
    expect(message).not.toContain('xxx');
  });
});

describe('a query', () => {
  it('is an object of its class, with numbers and defaults', async () => {
    expect(await query({})).toEqual({ limit: 10 });
    expect(await query({ limit: '50', sale: 'open' })).toEqual({ limit: 50, sale: 'open' });
  });

  it.each<[unknown, string]>([
    [{ sale: 'lost' }, 'sale must be one of open, sold.'],
    [{ sale: ['open', 'open'] }, 'sale must be given once.'],
    [{ limit: ['1', '2'] }, 'limit must be given once.'],
    [{ limit: '51' }, 'limit must be a whole number, 1 to 50.'],
    [{ '<evil>': 'x' }, 'unknown parameter; known are sale, limit.'],
    [{ constructor: 'x' }, 'unknown parameter; known are sale, limit.'],
    [JSON.parse('{"__proto__":"x"}'), 'unknown parameter; known are sale, limit.'],
    [{ toString: 'x', limit: '0' }, 'unknown parameter; known are sale, limit.'],
  ])('is refused by the names of parameters, and without a value: %j', async (value, message) => {
    await expect(query(value)).rejects.toMatchObject({ code: 'invalid_query', message });
  });

  it.each<[unknown, object]>([
    [{ limit: '51' }, { path: 'limit', expected: 'a whole number, 1 to 50', got: '51' }],
    [{ sale: ['open', 'open'] }, { path: 'sale', expected: 'given once', got: 'a list' }],
    [{ '<evil>': 'x' }, { path: 'query', expected: 'only sale, limit' }],
  ])('is refused with the first wrong place: %j', async (value, place) => {
    await expect(query(value)).rejects.toHaveProperty('place', place);
  });

  it('drops unknown parameters where its class says so', async () => {
    const value: unknown = JSON.parse('{"limit":"2","evil":"x","__proto__":{"sale":"open"}}');
    const read = await query(value, TolerantDto);
    expect({ ...(read as object) }).toEqual({ limit: 2 });
    await expect(query({ limit: 'x' }, TolerantDto)).rejects.toMatchObject({
      message: 'limit must be a whole number, 1 to 50.',
    });
  });
});

it('hands on what is of no class', async () => {
  const value = { a: ['1', '2'] };
  expect(await pipe.transform(value, { type: 'query', metatype: Object })).toBe(value);
  expect(await pipe.transform(['a'], { type: 'query', metatype: String })).toEqual(['a']);
  expect(await pipe.transform('x', { type: 'param', metatype: ListDto })).toBe('x');
});
