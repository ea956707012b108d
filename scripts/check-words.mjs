/**
 * `node scripts/check-words.mjs [FOLDER]`: plain English in docs, comments and messages.
 *
 * - Docs (`docs`, README, CONTRIBUTING, SECURITY): phrases, long sentences, wide table lines.
 * - Code: phrases in comments, and in `src` also in texts of three words and more.
 * - `check-words-exceptions.json` lists places that stay, each with its reason.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const MAX_WORDS = 40;
const MAX_ROW = 200;

const PHRASES = {
  whoever: /\bwho(?:m)?ever\b/gi,
  nobody: /\bnobody\b/gi,
  told: /\b(?:is|are|was|were|be|been|being)\s+told\b/gi,
  'is none': /\b(?:is|are|was|were)\s+none\b(?!\s+of)/gi,
  'but for': /\bbut\s+for\s+(?:its|the|a|an|these|those|one|what|some)\b/gi,
  'of ours': /\bof\s+ours\b/gi,
  'at its word': /\bat\s+(?:its|their)\s+word\b/gi,
  'private word':
    /\b(?:sworn|patiently|shown\s+out|handed\s+out|collected\s+again|given\s+(?:on|back)|hangs?\s+up\s+on|outsiders?|hears?|heard|learnt|said\s+again|anew|kept\s+apart|somebody)\b/gi,
  // "What is sold are bytes.", but no question, and no list that it begins.
  'what as subject':
    /(?<=^|[.!?:]\s+)What\s+(?:is|was|are|were|has|had|came|comes|stands|leaves|waits)\b[^.?:]*[.](?=\s|$)/g,
};

const read = (file) => readFileSync(`${ROOT}${file}`, 'utf8');
const filesOf = (folder, pattern) =>
  readdirSync(`${ROOT}${folder}`, { recursive: true, encoding: 'utf8' })
    .map((name) => `${folder}/${name}`)
    .filter((file) => pattern.test(file) && !/(?:^|\/)(?:node_modules|target|results)\//.test(file))
    .sort();

/** Comments of a source file and, where asked for, texts of three words and more. */
function textsOf(source, withMessages) {
  const texts = [];
  let comment = '';
  const token =
    /\/\/([^\n]*)|\/\*([\s\S]*?)\*\/|'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`|(?<=[(,=:[!&|?{};]\s*|return\s)\/(?![/*])(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\//g;
  let end = 0;
  for (const match of source.matchAll(token)) {
    const [all, line, block, ...literals] = match;
    // Lines of `//` that follow each other are one text.
    const goesOn = /^\s*$/.test(source.slice(end, match.index));
    if (comment !== '' && (line === undefined || !goesOn)) {
      texts.push(comment);
      comment = '';
    }
    if (line !== undefined) comment += `${line} `;
    else if (block !== undefined) texts.push(block.replace(/^\s*\*+/gm, ' '));
    else {
      const text = literals.find((one) => one !== undefined);
      if (withMessages && text !== undefined && text.trim().split(/\s+/).length > 2)
        texts.push(text);
    }
    end = match.index + all.length;
  }
  if (comment !== '') texts.push(comment);
  return texts.map((text) => text.replace(/\s+/g, ' ').trim());
}

/** Comments of a Lua script; lines that follow each other are one text. */
const commentsOfLua = (source) =>
  source
    .split(/\n(?!\s*--)/)
    .map((part) => [...part.matchAll(/--\s?(.*)$/gm)].map(([, text]) => text).join(' '))
    .filter((text) => text !== '');

/** Paragraphs and list items of a page, without code, headings and tables; and its table rows. */
function partsOf(page) {
  const lines = page
    .replace(/^\s*```[\s\S]*?^\s*```/gm, '\n')
    .replace(/<!--[\s\S]*?-->/g, '')
    .split('\n');
  const rows = lines.map((line) => line.trim()).filter((line) => line.startsWith('|'));
  const prose = lines
    .map((line) => (/^(?:\s*\||#)/.test(line) ? '' : line))
    .join('\n')
    .split(/\n\s*\n|\n(?=\s*(?:[-*]|\d+\.)\s)/)
    .map((text) => text.replace(/\s+/g, ' ').trim())
    .filter((text) => text !== '');
  return { rows, prose };
}

const plain = (text) => text.replace(/`[^`]+`/g, 'code').replace(/\[([^\]]*)\]\([^)]*\)/g, '$1');

function* broken(text) {
  for (const [rule, pattern] of Object.entries(PHRASES))
    for (const [found] of text.matchAll(pattern)) yield { rule, found };
}

const exceptions = JSON.parse(read('scripts/check-words-exceptions.json'));
const isAllowed = (file, { rule, found }, text) =>
  exceptions.some(
    (one) => one.file === file && one.rule === rule && `${found} ${text}`.includes(one.text),
  );

const pages = [...filesOf('docs', /\.md$/), 'README.md', 'CONTRIBUTING.md', 'SECURITY.md'];
const inDocs = pages.flatMap((file) => {
  const { rows, prose } = partsOf(read(file));
  const long = prose
    .flatMap((text) => plain(text).split(/(?<=[.!?])\s+(?=\S)/))
    .filter((sentence) => sentence.split(/\s+/).length > MAX_WORDS)
    .map((found) => ({ rule: `sentence above ${MAX_WORDS} words`, found, text: found }));
  const wide = rows
    .filter((row) => row.length > MAX_ROW)
    .map((found) => ({ rule: `table line above ${MAX_ROW} characters`, found, text: found }));
  const phrases = [...prose, ...rows].flatMap((text) =>
    [...broken(plain(text))].map((one) => ({ ...one, text })),
  );
  return [...long, ...wide, ...phrases]
    .filter((one) => !isAllowed(file, one, one.text))
    .map((one) => ({ file, ...one }));
});

const inCode = ['src', 'test', 'sandbox', 'bench', 'scripts'].flatMap((folder) =>
  filesOf(folder, /\.(?:ts|mjs|lua)$/)
    .filter((file) => file !== 'scripts/check-words.mjs')
    .flatMap((file) =>
      (file.endsWith('.lua')
        ? commentsOfLua(read(file))
        : textsOf(read(file), folder === 'src')
      ).flatMap((text) =>
        [...broken(text)]
          .filter((one) => !isAllowed(file, one, text))
          .map((one) => ({ file, ...one, text })),
      ),
    ),
);

const [, , folder = ''] = process.argv;
const all = [...inDocs, ...inCode].filter(({ file }) => file.startsWith(folder));
for (const { file, rule, found, text } of all)
  console.log(`${file}: ${rule}: ${(found.length > 20 ? found : text).slice(0, 160)}`);
process.exitCode = all.length > 0 ? 1 : 0;
