import t from 'tap'
import { type SourceFile, sources } from './sources.ts'

/**
 * What is made and can fail has a listener for its failure: without one, the failure ends the process. Looked for are
 * the ways in which the program makes streams, sockets, servers and child processes; each is given to `owned`, or its
 * file listens to it by name.
 */

const MAKERS: readonly RegExp[] = [
  /\bnew (?:PassThrough|Transform|Readable|Writable|Duplex|EventEmitter|Socket|Worker)\(/g,
  /\bReadable\.from(?:Web)?\(/g,
  /\bcreate(?:Read|Write)Stream\(/g,
  /\bcreateInterface\(/g,
  /\bpino\.destination\(/g,
  /\bnew (?:Client|Pool|Agent|Server)\(/g,
  /(?<![.\w])[Ff]astify\(/g,
]

/** What reports its failures elsewhere, by file. */
const REPORTS_ELSEWHERE: Readonly<Record<string, readonly string[]>> = {
  // Dispatchers of undici: each failure goes to the handler of its request.
  'new Pool(': ['src/families/kit/http/kept-connections.ts'],
  'new Client(': [
    'src/families/kit/http/kept-connections.ts',
    'src/families/kit/http/public-fetch.ts',
    'infra/sandbox/callbacks.ts',
  ],
  'new Agent(': ['src/storage/s3/client.ts'],
  // A server of gRPC has no events.
  'new Server(': ['infra/embedded/eventstore/server.ts'],
}

/** Functions of Node's; others of these names exist. */
const NODE_MAKERS = ['spawn', 'fork', 'connect', 'createServer']

const classesIn = (text: string): readonly string[] =>
  [
    ...text.matchAll(/class (\w+) extends (?:Readable|Writable|Transform|Duplex|EventEmitter)\b/g),
  ].map(([, name = '']) => name)

/** Streams of the program, by the file that has their class. */
const ownClasses = new Map(sources.map(({ path, text }) => [path, classesIn(text)]))

interface Made {
  readonly path: string
  readonly maker: string
  readonly before: string
  readonly text: string
}

function madeIn({ path, text, imports }: SourceFile): readonly Made[] {
  const code = text.replace(/^import [^;]*? from '[^']+'$/gm, '')
  const fromNode = NODE_MAKERS.filter((name) =>
    new RegExp(`^import [^;]*?\\b${name}\\b[^;]*? from 'node:`, 'm').test(text),
  )
  const patterns = [
    ...MAKERS,
    ...fromNode.map((name) => new RegExp(`(?<![.\\w])${name}\\(`, 'g')),
    ...[path, ...imports]
      .flatMap((file) => ownClasses.get(file) ?? [])
      .map((name) => new RegExp(`\\bnew ${name}\\(`, 'g')),
  ]
  return patterns.flatMap((pattern) =>
    [...code.matchAll(pattern)].map(({ 0: maker, index }) => ({
      path,
      maker,
      before: code.slice(0, index),
      text: code,
    })),
  )
}

function isOwned({ path, maker, before, text }: Made): boolean {
  if (REPORTS_ELSEWHERE[maker]?.includes(path) === true) return true
  if (/\b(?:owned|guardedSource)\(\s*$/.test(before)) return true
  const name = /(?:const|let) (\w+)(?:: \w+)? = (?:\w+\.)*$/.exec(before)?.[1]
  if (name === undefined) return false
  const owners = [
    `${name}\\s*\\.on\\('error'`,
    `owned\\(${name}(?:\\.server)?\\)`,
    `(?:guardedSource|surviveLostConnections|useConnections)\\(${name}\\b`,
  ]
  return new RegExp(owners.join('|')).test(text)
}

t.test('every stream, socket, server and child process has an owner for its failure', (t) => {
  const made = sources.flatMap(madeIn)
  t.ok(made.length >= 30, `${made.length} are made`)
  t.ok([...ownClasses.values()].flat().length >= 3)
  for (const one of made)
    t.ok(isOwned(one), `${one.path}: ${one.maker} ${one.before.slice(-60).replace(/\s+/g, ' ')}`)
  t.end()
})

t.test('listeners for failures are permanent, not for the first failure only', (t) => {
  for (const { path, text } of sources) t.notMatch(text, /\.once\(\s*'error'/, path)
  t.end()
})

t.test('each listed exception still exists in the code', (t) => {
  for (const [maker, paths] of Object.entries(REPORTS_ELSEWHERE))
    for (const path of paths)
      t.ok(
        sources.find((source) => source.path === path)?.text.includes(maker),
        `${path}: ${maker}`,
      )
  t.end()
})
