import { parse } from 'acorn'
import { buildSync } from 'esbuild'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { checkout } from '../../helpers/checkout.ts'
import { sources } from '../sources.ts'

/** A regular expression of the code: a literal, one built from a text, or the pattern of a schema. */
export interface Pattern {
  readonly path: string
  readonly source: string
  readonly flags: string
}

interface Node {
  readonly type: string
  readonly [member: string]: unknown
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string'

/** What a part that is only known at run time is taken to be: no character of it is special. */
const UNKNOWN_PART = 'word'

/** The text of a literal or a template; undefined for anything else. */
function textOf(node: unknown): string | undefined {
  if (!isNode(node)) return undefined
  if (node.type === 'Literal') return typeof node.value === 'string' ? node.value : undefined
  const isRaw = node.type === 'TaggedTemplateExpression'
  const template = isRaw ? node.quasi : node
  if (!isNode(template) || template.type !== 'TemplateLiteral') return undefined
  return (template.quasis as readonly { readonly value: { raw: string; cooked: string } }[])
    .map(({ value }) => (isRaw ? value.raw : value.cooked))
    .join(UNKNOWN_PART)
}

const nameOf = (node: unknown): unknown => (isNode(node) ? (node.name ?? node.value) : undefined)

/** The regular expressions of a node itself; `source` is undefined where no text stands there. */
function patternsOf(node: Node): readonly { source: string | undefined; flags: string }[] {
  const { regex } = node
  if (node.type === 'Literal' && typeof regex === 'object' && regex !== null) {
    const { pattern, flags } = regex as { readonly pattern: string; readonly flags: string }
    return [{ source: pattern, flags }]
  }
  if (node.type === 'NewExpression' || node.type === 'CallExpression') {
    const [source, flags] = node.arguments as readonly unknown[]
    return nameOf(node.callee) === 'RegExp'
      ? [{ source: textOf(source), flags: textOf(flags) ?? '' }]
      : []
  }
  const source = node.type === 'Property' && nameOf(node.key) === 'pattern' && textOf(node.value)
  return typeof source === 'string' ? [{ source, flags: 'u' }] : []
}

function walk(value: unknown, visit: (node: Node) => void): void {
  if (Array.isArray(value)) for (const one of value) walk(one, visit)
  if (!isNode(value)) return
  visit(value)
  for (const member of Object.values(value)) walk(member, visit)
}

/** The text of each file that may have a pattern, without types. */
function* javascriptOf(): Generator<readonly [path: string, code: string]> {
  const root = fileURLToPath(checkout)
  const found = sources.filter(({ text }) => /\/.*\/|RegExp|pattern/.test(text))
  const { outputFiles } = buildSync({
    entryPoints: found.map(({ path }) => path),
    absWorkingDir: root,
    outdir: root,
    outbase: root,
    outExtension: { '.js': '.ts' },
    target: 'esnext',
    write: false,
  })
  for (const { path, text } of outputFiles) yield [relative(root, path), text]
}

/** Every regular expression of the code, and the files that build one from a text of elsewhere. */
export function collectPatterns(): {
  readonly patterns: readonly Pattern[]
  readonly unreadable: readonly string[]
} {
  const patterns: Pattern[] = []
  const unreadable: string[] = []
  for (const [path, code] of javascriptOf())
    walk(parse(code, { ecmaVersion: 'latest', sourceType: 'module' }), (node) => {
      for (const { source, flags } of patternsOf(node))
        if (source === undefined) unreadable.push(path)
        else patterns.push({ path, source, flags })
    })
  return { patterns, unreadable }
}
