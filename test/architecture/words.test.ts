import { readdirSync, readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { checkout } from '../helpers/checkout.ts'
import { documentPaths, rooms } from '../helpers/documents.ts'
import { pageText } from '../helpers/printed-calls.ts'
import { sources } from './sources.ts'

/**
 * `docs/glossary.md` names each thing once. The words of its column "Not" are not used; a word is added
 * there to be looked for here.
 */

interface Row {
  readonly term: string
  readonly meaning: string
  readonly not: readonly string[]
}

/** What stands between backquotes. */
function namesIn(cell: string): readonly string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name)
}

/** The rows of all tables of the page, each cell found by the heading of its column. */
function rowsOf(page: string): readonly Row[] {
  let headings: readonly string[] = []
  return page.split('\n').flatMap((line) => {
    if (!line.startsWith('| ')) return []
    const cells = line.split('|').map((cell) => cell.trim())
    if (cells.includes('Term') || cells.includes('Not')) {
      headings = cells
      return []
    }
    const cellOf = (heading: string): string => cells[headings.indexOf(heading)] ?? ''
    const term = namesIn(cellOf('Term'))[0] ?? ''
    return [{ term, meaning: cellOf('What it is'), not: namesIn(cellOf('Not')) }]
  })
}

const rows = rowsOf(pageText('docs/glossary.md'))
const terms = rows.map(({ term }) => term).filter((term) => term !== '')
const unwanted = rows.flatMap(({ not }) => not)

/**
 * Words that the code keeps, each in the named files only: they are written in stored data, in goldens or
 * in the names of other programs.
 */
const stillInCode: Readonly<Record<string, readonly string[]>> = {
  // A member of the stored event `TaskRequested`, and what reads it.
  madeHere: [
    'src/domain/task/events.ts',
    'src/domain/task/decider.ts',
    'src/domain/task/observe.ts',
    'src/app/tasks/create-task.ts',
    'src/app/tasks/task-keys.ts',
    'projections/tasks/fold.ts',
  ],
  // The system account under which Postgres runs.
  nobody: ['infra/embedded/postgres/account.ts'],
  // The columns `told_at`, and the members `told_at` and `toldAtMs`.
  told: [
    'src/app/accounts/alerts/manage.ts',
    'src/app/accounts/alerts/webhooks.ts',
    'src/app/spending/lost-spools.ts',
    'src/app/spending/migrations.ts',
    'src/app/spending/replica-reports.ts',
    'src/app/spending/spendable.ts',
    'src/api/admin/balance-alerts.ts',
    'src/cli/balance-alerts.ts',
  ],
}

const pages = documentPaths.filter((path) => path !== 'docs/glossary.md')

/** What tests say of behaviour. */
function titlesOf(path: string): string {
  const text = readFileSync(new URL(path, checkout), 'utf8')
  return [...text.matchAll(/\bt\.test\(\s*(['"`])([\s\S]*?)\1/g)]
    .map(([, , title = '']) => title)
    .join('\n')
}

const tests = readdirSync(new URL('test/', checkout), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.test.ts') && !name.includes('node_modules'))
  .map((name) => `test/${name}`)

/** The words of a text in small letters; those of `readModelOf` are three, and it is one itself. */
function wordsOf(text: string): ReadonlySet<string> {
  const names = text.match(/[A-Za-z]+/g) ?? []
  const parts = names.flatMap((name) => name.match(/[A-Z]?[a-z]+|[A-Z]+(?![a-z])/g) ?? [])
  return new Set([...names, ...parts.map((part) => part.toLowerCase())])
}

/** A page without what it quotes of the code, which is looked at there. */
function proseOf(path: string): string {
  return pageText(path)
    .replace(/^```[\s\S]*?^```$/gm, '')
    .replace(/`[^`]*`/g, '')
}

interface Searched {
  readonly path: string
  readonly words: ReadonlySet<string>
}

/** Each unwanted word is found in the files alone that keep it. */
function refuse(
  test: Test,
  searched: readonly Searched[],
  kept: Readonly<Record<string, readonly string[]>> = {},
): void {
  for (const word of unwanted) {
    const found = searched.filter((one) => one.words.has(word)).map(({ path }) => path)
    test.same(found.toSorted(), (kept[word] ?? []).toSorted(), word)
  }
}

t.test('no unwanted word stands in the documentation', (t) => {
  t.ok(unwanted.length >= 20, `${unwanted.length} words`)
  t.ok(pages.length >= 30, `${pages.length} pages`)
  const searched = pages.map((path) => ({ path, words: wordsOf(proseOf(path)) }))
  refuse(t, searched)
  t.end()
})

t.test('no unwanted word stands in code or in titles of tests', (t) => {
  const searched = [
    ...sources.map(({ path, text }) => ({ path, words: wordsOf(`${path}\n${text}`) })),
    ...tests.map((path) => ({ path, words: wordsOf(titlesOf(path)) })),
  ]
  t.ok(searched.length > 1_000, `${searched.length} files`)
  for (const word of Object.keys(stillInCode)) t.ok(unwanted.includes(word), `${word} is unwanted`)
  refuse(t, searched, stillInCode)
  t.end()
})

t.test('the glossary has at most 80 terms, each once, under the names of the code', (t) => {
  t.ok(terms.length >= 40 && terms.length <= 80, `${terms.length} terms`)
  t.equal(new Set(terms).size, terms.length, 'each once')
  const names = new Set(sources.flatMap(({ text }) => text.match(/\w+/g) ?? []))
  for (const term of terms) t.ok(names.has(term), term)
  t.end()
})

t.test('a word of a room means what the glossary and the other rooms say', (t) => {
  const names = new Set(sources.flatMap(({ text }) => text.match(/\w+/g) ?? []))
  const meanings = new Map(rows.map(({ term, meaning }) => [term, meaning]))
  for (const room of rooms) {
    const [, rest = ''] = pageText(`${room}/README.md`).split('\n## Words\n')
    const [section = ''] = rest.split('\n## ')
    const words = [...section.matchAll(/^- (?:`(\w+)`|([a-z][a-z ]*)): (.+)$/gm)]
    t.ok(words.length >= 3, `${room}: ${words.length} words`)
    t.equal(words.length, section.match(/^- /gm)?.length, `${room}: each is a word and its meaning`)
    for (const [, name, plain = '', meaning = ''] of words) {
      const word = name ?? plain
      if (name !== undefined) t.ok(names.has(name), `${room}: ${name} is a name of the code`)
      t.equal(meaning, meanings.get(word) ?? meaning, `${room}: ${word}`)
      meanings.set(word, meaning)
    }
  }
  t.end()
})

/** Begins or ends a comment that is understood only with the one before or below it. */
const LEANING_COMMENT =
  /^(?:it|they|its|them|then|so|this one|the same|the others?|of|and|but|or|also|likewise|as (?:above|before)|such as|too|which|else|otherwise|…)(?=[^\w'])|[^,] …$/i
/** A message may follow the name of a member: "of a token may not be wider" is understood after it. */
const LEANING_MESSAGE =
  /^(?:it|they|its|them|then|so|this one|the same|the others?|and|but|also|likewise|else|otherwise)(?=[^\w'])/i

/** Comments as sentences: those between the marks of a doc comment, and each run of lines after `//`. */
function commentsOf(text: string): readonly string[] {
  const documented = text.match(/\/\*\*[\s\S]*?\*\//g) ?? []
  const inline = text.match(/^ *\/\/ .*(?:\n *\/\/ .*)*/gm) ?? []
  return [
    ...documented.map((comment) => comment.slice(3, -2).replace(/\n\s*\* ?/g, ' ')),
    ...inline.map((comment) => comment.replace(/(?:^|\n) *\/\/ ?/g, ' ')),
  ].map((comment) => comment.trim())
}

/** The messages of errors, failures, members and variables, as people read them. */
function messagesOf(text: string): readonly string[] {
  const said =
    /(?:new \w*Error\(\s*(?:'\w+',\s*)?|\bown\(\d+, |\b(?:words|description|summary|help|message):\s*)(['"`])(.*?)\1/g
  return [...text.matchAll(said)].map(([, , message = '']) => message)
}

t.test('a comment and a message are understood without the line below them', (t) => {
  const searched = sources.filter(({ path }) => /^(?:infra|projections|src)\//.test(path))
  const texts = searched.flatMap(({ path, text }) => [
    ...commentsOf(text).map((said) => ({ path, said, leaning: LEANING_COMMENT })),
    ...messagesOf(text).map((said) => ({ path, said, leaning: LEANING_MESSAGE })),
  ])
  t.ok(texts.length > 5_000, `${texts.length} comments and messages`)
  const leaning = texts.filter((one) => one.leaning.test(one.said))
  t.same(
    leaning.map(({ path, said }) => `${path}: ${said}`),
    [],
  )
  t.end()
})

t.test('a comment names files that exist, in its folder or by their path', (t) => {
  const paths = sources.map(({ path }) => path)
  const named = sources.flatMap(({ path, text }) => {
    const folder = path.slice(0, path.lastIndexOf('/') + 1)
    const comments = text.match(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/ .*$/gm) ?? []
    return comments
      .flatMap((comment) => comment.match(/(?<![\w./-])[\w./-]+\.ts\b/g) ?? [])
      .map((name) => ({ path, folder, name }))
  })
  t.ok(named.length > 20, `${named.length} names`)
  for (const { path, folder, name } of named) {
    const isThere = paths.some((one) =>
      name.includes('/')
        ? one === name || one === `${folder}${name.replace(/^\.\//, '')}`
        : one.startsWith(folder) && one.endsWith(`/${name}`),
    )
    t.ok(isThere, `${path}: ${name}`)
  }
  t.end()
})
