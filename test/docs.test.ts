import { existsSync, readFileSync } from 'node:fs'
import t from 'tap'
import { eventSchemas } from '../src/domain/any-event.ts'
import { startApp } from './api/support/app.ts'
import { checkout } from './helpers/checkout.ts'
import { documentPaths, rooms } from './helpers/documents.ts'

interface Page {
  readonly path: string
  readonly url: URL
  readonly text: string
  /** As links name them: `## What a text call costs` is `what-a-text-call-costs`. */
  readonly anchors: ReadonlySet<string>
}

/** Text without what stands in fences: there `#` begins comments. */
function withoutFences(text: string): string {
  return text.replace(/^```[\s\S]*?^```$/gm, '')
}

function anchorsOf(text: string): ReadonlySet<string> {
  const headings = withoutFences(text).matchAll(/^#+ (.+)$/gm)
  return new Set(
    [...headings].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  )
}

function readPage(path: string): Page {
  const url = new URL(path, checkout)
  const text = readFileSync(url, 'utf8')
  return { path, url, text, anchors: anchorsOf(text) }
}

const pages = documentPaths.map(readPage)
const docs = pages.filter(({ path }) => path.startsWith('docs/'))
const byUrl = new Map(pages.map((page) => [page.url.href, page]))

function textOf(path: string): string {
  return pages.find((page) => page.path === path)?.text ?? ''
}

function brokenLinks(page: Page): readonly string[] {
  const targets = [...withoutFences(page.text).matchAll(/\]\(([^)\s]+)\)/g)].map(
    ([, target = '']) => target,
  )
  return targets
    .filter((target) => !/^[a-z]+:/.test(target))
    .filter((target) => {
      const url = new URL(target, page.url)
      const anchor = url.hash.slice(1)
      url.hash = ''
      if (!existsSync(url)) return true
      return anchor !== '' && byUrl.get(url.href)?.anchors.has(anchor) !== true
    })
    .map((target) => `${page.path}: ${target}`)
}

/** Files and folders of ours that a page names: `src/domain/task`, `test/app/calls`. */
function missingPlaces(page: Page): readonly string[] {
  const named = page.text.matchAll(/`((?:src|projections|infra|test|docs)(?:\/[\w.-]+)+)`/g)
  return [...named]
    .map(([, path = '']) => path)
    .filter((path) => !existsSync(new URL(path, checkout)))
    .map((path) => `${page.path}: ${path}`)
}

t.test('every link and every path named by a page exists', (t) => {
  t.ok(docs.length >= 12, `read ${docs.length} pages`)
  t.same(pages.flatMap(brokenLinks), [])
  t.same(pages.flatMap(missingPlaces), [])
  t.end()
})

t.test('the README links to the index, and the index to every page', (t) => {
  t.match(textOf('README.md'), '](docs/README.md)')
  const index = textOf('docs/README.md')
  for (const { path } of docs)
    if (path !== 'docs/README.md') t.ok(index.includes(`](${path.slice('docs/'.length)})`), path)
  t.end()
})

const MAX_ROOM_LINES = 60
const ROOM_SECTIONS = ['Owns', 'Words', 'Invariants', 'Read in this order', 'Called by']

/** Returns the text of one section of a page. */
function sectionOf(text: string, heading: string): string {
  const [, rest = ''] = text.split(`\n## ${heading}\n`)
  return rest.split('\n## ')[0] ?? ''
}

/** Files and folders that the README of a room names, in its own folder or by their path, and that do not exist. */
function missingFiles(page: Page): readonly string[] {
  const named = page.text.matchAll(/`([\w.-]+(?:\/[\w.-]+)+|[\w.-]+\.tsx?)`/g)
  return [...named]
    .map(([, path = '']) => path)
    .filter((path) => !existsSync(new URL(path, page.url)) && !existsSync(new URL(path, checkout)))
}

t.test('a README of a room is short, has every section, and names what exists', (t) => {
  const promises = new Set(textOf('docs/promises.md').match(/(?<=^## )P\d+/gm))
  const map = sectionOf(textOf('docs/architecture.md'), 'Map')
  for (const room of rooms) {
    const page = readPage(`${room}/README.md`)
    t.ok(page.text.split('\n').length - 1 <= MAX_ROOM_LINES, `${room}: at most ${MAX_ROOM_LINES}`)
    const headings = [...page.text.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading)
    t.same(headings, ROOM_SECTIONS, `${room}: sections`)
    t.same(missingFiles(page), [], `${room}: every file that is named exists`)
    t.match(
      sectionOf(page.text, 'Read in this order'),
      /^1\. `[\w/.-]+\.tsx?`/m,
      `${room}: a first file`,
    )
    const invariants = sectionOf(page.text, 'Invariants').match(/^- .+$/gm) ?? []
    t.ok(invariants.length >= 3, `${room}: ${invariants.length} invariants`)
    for (const invariant of invariants) {
      t.match(invariant, /`test\/[\w/.-]+`/, `${room}: a test holds it`)
      for (const promise of invariant.match(/\bP\d+\b/g) ?? []) t.ok(promises.has(promise), promise)
    }
    t.ok(map.includes(`](../${room}/README.md)`), `${room}: the map links to it`)
  }
  t.end()
})

t.test('the events page has a row for every event type, and no other row', (t) => {
  const events = textOf('docs/events.md')
  const rows = [...events.matchAll(/^\| `([A-Z]\w+)` +\|/gm)].map(([, type]) => type)
  t.equal(rows.length, new Set(rows).size, 'each once')
  t.same(new Set(rows), new Set(Object.keys(eventSchemas)))
  t.end()
})

interface Operation {
  readonly responses: Readonly<Record<string, Response>>
}
interface Response {
  readonly content?: Readonly<
    Record<
      string,
      {
        readonly example?: unknown
        readonly examples?: Readonly<Record<string, { readonly value: unknown }>>
      }
    >
  >
}

/** The words by which the examples of failures name them. */
function codesOf({ content = {} }: Response): readonly string[] {
  const shown = Object.values(content).flatMap(({ example, examples = {} }) => [
    example,
    ...Object.values(examples).map(({ value }) => value),
  ])
  return shown.flatMap((example) => {
    const { error, reason }: { readonly error?: unknown; readonly reason?: unknown } =
      Object(example)
    if (typeof reason === 'string') return [reason]
    const code: unknown = Object(Object(Object(example).ResponseMetadata).Error).Code
    if (typeof code === 'string') return [code]
    const number: unknown = Object(Object(example).base_resp).status_code
    if (typeof number === 'number') return [String(number)]
    if (typeof error !== 'object' || error === null) return []
    return Object.entries(error).flatMap(([name, value]) =>
      (name === 'code' || name === 'status') && typeof value === 'string' ? [value] : [],
    )
  })
}

t.test('every route and each of its failures is named by a page of a surface', async (t) => {
  const { app } = await startApp({ objects: () => Promise.resolve(undefined) })
  t.teardown(() => app.close())
  const { paths } = (await app.inject('/openapi.json')).json<{
    readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  }>()
  const surfaces = docs
    .filter(({ path }) => path.startsWith('docs/surfaces/'))
    .map(({ text }) => text)
    .join('\n')
  const routes = Object.entries(paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
  )
  t.ok(routes.length >= 14, `${routes.length} routes`)
  const codes = new Set(
    Object.values(paths)
      .flatMap((operations) => Object.values(operations))
      .flatMap(({ responses }) => Object.values(responses).flatMap(codesOf)),
  )
  t.ok(codes.size >= 20, `${codes.size} codes`)
  for (const word of [...routes, ...codes]) t.ok(surfaces.includes(`\`${word}\``), word)
})
