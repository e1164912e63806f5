import t from 'tap'
import { type SourceFile, sources } from './sources.ts'

/** The room a file stands in; what may be imported is said per room below. */
function roomOf(path: string): string {
  const parts = path.split('/')
  if (parts[0] === 'projections') return 'projections'
  if (parts[0] === 'infra') return `infra/${parts[1]}`
  return parts.length === 2 ? `src/${parts[1]}` : `src/${parts[1]}`
}

const ground = ['src/kernel', 'src/platform']

const below: Readonly<Record<string, readonly string[]>> = {
  'src/kernel': [],
  'src/domain': ['src/kernel'],
  'src/platform': ['src/kernel'],
  'src/eventlog': [...ground, 'src/domain'],
  'src/storage': ground,
  projections: [...ground, 'src/domain', 'src/eventlog'],
  'src/app': [...ground, 'src/domain', 'src/eventlog', 'src/storage', 'projections'],
  'src/api': [...ground, 'src/domain', 'src/app', 'projections'],
  'src/families': [...ground, 'src/domain', 'src/eventlog', 'src/app', 'src/api', 'projections'],
  'src/console': [...ground, 'src/domain', 'src/app', 'src/api', 'projections'],
  'infra/embedded': ground,
  'infra/sandbox': ground,
}
/** The rooms where everything is put together. */
const assembly = new Set([
  'src/config.ts',
  'src/environment.ts',
  'src/variables.ts',
  'src/main.ts',
  'src/start',
  'src/cli',
])

/** Where faces upstream meet the application. */
const isPort = (path: string): boolean => path.startsWith('src/app/ports/')

/** Layers of what faces upstream share: images and tasks build on HTTP, which knows of neither. */
const kitBelow: Readonly<Record<string, readonly string[]>> = {
  http: ['http'],
  image: ['http', 'image'],
  task: ['http', 'task'],
  media: ['http', 'media'],
}

/** What a file of the kit imports against its layers; families it never knows. */
function kitOffences(file: SourceFile): string[] {
  const [, layer] = /^src\/families\/kit\/(\w+)\//.exec(file.path) ?? []
  if (layer === undefined) return []
  const allowed = kitBelow[layer]
  if (!allowed) return [`${file.path}: stands in no known layer of the kit`]
  const imports = file.imports
    .filter((target) => target.startsWith('src/families/'))
    .filter((target) => !allowed.some((name) => target.startsWith(`src/families/kit/${name}/`)))
    .map((target) => `${file.path} imports ${target}: against the layers of the kit`)
  const foreign = layer === 'http' && /\b(?:Text|Task)[A-Z]\w*|domain\//.exec(file.text)
  return foreign ? [...imports, `${file.path} speaks of ${foreign[0]}`] : imports
}

/** What each room of a family may use of the others; the record of a family uses all. */
const familyBelow: Readonly<Record<string, readonly string[]>> = {
  rules: ['rules'],
  upstream: ['rules', 'ports.ts', 'settings.ts', 'upstream'],
  calls: ['rules', 'ports.ts', 'settings.ts', 'calls'],
  surface: ['rules', 'calls', 'surface'],
  library: ['rules', 'library'],
}

/** What surfaces below `/v1` share with the surfaces of no family there. */
const ofV1 = new Set([
  'src/api/v1/documentation.ts',
  'src/api/v1/envelope.ts',
  'src/api/v1/mount.ts',
])
/** They share `families/text`. */
const textWires = new Set(['chat', 'responses', 'native', 'messages'])

/** Why a file of a family may not import another file; undefined where it may. */
function familyOffence(path: string, target: string): string | undefined {
  const [, , family = '', room = ''] = path.split('/')
  const isRecord = !path.startsWith(`src/families/${family}/${room}/`)
  if (isRecord) return undefined
  const isKit = family === 'kit'
  if (target.startsWith('src/app/') && (isKit || room === 'upstream') && !isPort(target))
    return 'what faces upstream meets the application in its ports'
  if (target.startsWith('src/api/') && (isKit || room === 'upstream' || room === 'rules'))
    return 'only what faces callers knows the API'
  if (/^src\/(?:app|eventlog)\//.test(target) && room === 'rules')
    return 'rules know the domain alone'
  if (target.startsWith('src/eventlog/') && (isKit || room === 'upstream' || room === 'surface'))
    return 'use cases of a family write to the log'
  if (target.startsWith('src/api/') && !target.startsWith('src/api/kit/') && !ofV1.has(target))
    return 'of the API, families know the kit'
  if (!target.startsWith('src/families/')) return undefined
  const [, , theirs, theirRoom = ''] = target.split('/')
  if (theirs === 'kit') return undefined
  if (theirs === 'text' && textWires.has(family)) return undefined
  if (theirs !== family) return 'another family'
  return familyBelow[room]?.includes(theirRoom) ? undefined : `not of what ${room} may use`
}

function offences(file: SourceFile): string[] {
  const room = roomOf(file.path)
  if (assembly.has(room)) return []
  const allowed = below[room]
  if (!allowed) return [`${file.path}: stands in no known room`]
  return file.imports.flatMap((target) => {
    const targetRoom = roomOf(target)
    const say = (why: string): string[] => [`${file.path} imports ${target}: ${why}`]
    if (targetRoom !== room && !allowed.includes(targetRoom))
      return say('against the dependency rule')
    if (room === 'src/api') {
      const [, , mine] = file.path.split('/')
      const [, , theirs] = target.split('/')
      const shared = theirs === 'kit' || file.path.split('/').length === 3
      if (targetRoom === room && mine !== theirs && !shared) return say('a sibling folder')
    }
    const why = room === 'src/families' ? familyOffence(file.path, target) : undefined
    if (why !== undefined) return say(why)
    if (
      room === 'projections' &&
      targetRoom === 'src/domain' &&
      !/events?\.ts$|(?:event-facts|lives|settlement|usage)\.ts$/.test(target)
    )
      return say('projections know only events of the domain')
    if (
      (room === 'src/app' || room === 'src/api') &&
      targetRoom === 'projections' &&
      !/\/query\.ts$|\/engine\//.test(target)
    )
      return say('a projection is used through its query.ts')
    return []
  })
}

t.test('every import follows the dependency rule', (t) => {
  t.ok(sources.length > 60, `read ${sources.length} files`)
  const edges = sources.reduce((sum, file) => sum + file.imports.length, 0)
  t.ok(edges > 150, `read ${edges} imports`)
  t.same(sources.flatMap(offences), [])
  t.end()
})

/** Modules of Node that only compute: bytes, hashes, whether a text is an address, and the turns of the event loop. */
const computing = new Set(['buffer', 'crypto', 'net', 'timers/promises'])

/** Why a file is not pure: it names the process, or a module of Node that reaches outside. */
function impurities({ path, text }: SourceFile): string[] {
  const modules = [...text.matchAll(/^import (?!type ).*?from 'node:([^']+)'/gm)]
    .filter(([, name = '']) => !computing.has(name))
    .map(([line]) => line)
  const sockets = /\bimport \{(?! isIP \}).*from 'node:net'/.exec(text) ?? []
  const named = /^(?! *(?:\*|\/)).*\bprocess\.\w+/m.exec(text) ?? []
  return [...modules, ...sockets, ...named].map((found) => `${path}: ${found.trim()}`)
}

t.test('the kernel and the domain touch no file, no network and no process', (t) => {
  const pure = sources.filter(({ path }) => /^src\/(?:kernel|domain)\//.test(path))
  t.ok(pure.length > 100, `read ${pure.length} files`)
  t.same(pure.flatMap(impurities), [])
  const touching = sources.filter(({ path }) => path.startsWith('src/platform/'))
  t.ok(touching.flatMap(impurities).length > 4, 'the room for what does is seen to')
  t.end()
})

t.test('the kit of families is layered: http below task and image', (t) => {
  const kit = sources.filter((file) => file.path.startsWith('src/families/kit/'))
  t.ok(kit.length > 15, `read ${kit.length} files`)
  t.same(kit.flatMap(kitOffences), [])
  const layers = kit.map((file) => file.path.split('/')[3])
  t.same(new Set(layers), new Set(Object.keys(kitBelow)))
  t.end()
})

t.test('no import cycles, even of types', (t) => {
  const graph = new Map(sources.map((file) => [file.path, file.imports]))
  const state = new Map<string, 'open' | 'done'>()
  const cycles: string[] = []
  const visit = (path: string, trail: readonly string[]): void => {
    if (state.get(path) === 'done') return
    if (state.get(path) === 'open') {
      cycles.push([...trail.slice(trail.indexOf(path)), path].join(' → '))
      return
    }
    state.set(path, 'open')
    for (const next of graph.get(path) ?? []) if (graph.has(next)) visit(next, [...trail, path])
    state.set(path, 'done')
  }
  for (const path of graph.keys()) visit(path, [])
  t.same(cycles, [])
  t.end()
})

t.test('files and functions keep their size, and files have telling names', (t) => {
  const long = sources
    .map((file) => ({ path: file.path, lines: file.text.split('\n').length }))
    .filter((file) => file.lines > 301)
  t.same(long, [], 'no file over 300 lines')
  const vague = sources.filter((file) =>
    /\/(?:utils?|helpers?|common|interfaces)(?:\/|\.ts$)/.test(file.path),
  )
  t.same(
    vague.map((file) => file.path),
    [],
  )
  t.end()
})

t.test('the audit computes movements of money itself', (t) => {
  const audit = sources.filter(({ path }) => path.startsWith('src/app/audit/'))
  t.ok(audit.length > 20, `read ${audit.length} files`)
  const readers = audit.filter(
    ({ text, imports }) =>
      imports.includes('src/domain/event-facts.ts') ||
      /\b(?:moneyEffectsOf|movingTypes)\b/.test(text),
  )
  t.same(
    readers.map(({ path }) => path),
    [],
  )
  t.end()
})

t.test('the environment is read in one place', (t) => {
  const readers = sources.filter(
    (file) => /process\.env/.test(file.text) && !file.path.startsWith('infra/'),
  )
  t.same(
    readers.map((file) => file.path),
    ['src/config.ts'],
  )
  t.end()
})

t.test('every list of the API is a table through the same function', (t) => {
  const writers = sources.filter(({ imports }) => imports.includes('src/api/kit/answers/csv.ts'))
  t.same(
    writers.map(({ path }) => path),
    ['src/api/query/line-files.ts', 'src/api/kit/answers/lists.ts'],
  )
  const offering = sources.filter(({ text }) => /\bcsv: true\b/.test(text))
  t.ok(offering.length > 4, `${offering.length} files offer tables`)
  for (const { path, text } of offering) t.match(text, /\bsendList\(/, path)
  t.end()
})

t.test('a fold uses no tables, and a query uses no writer', (t) => {
  const layerOf = (path: string): string | undefined =>
    /^projections\/[^/]+\/(fold|write|read)\//.exec(path)?.[1]
  const layers: Readonly<Record<string, readonly string[]>> = {
    fold: ['fold'],
    write: ['write', 'fold'],
    read: ['read', 'fold'],
  }
  const layered = sources.filter(({ path }) => layerOf(path) !== undefined)
  t.ok(layered.length > 10, `read ${layered.length} files`)
  const offending = layered.flatMap(({ path, imports }) =>
    imports
      .filter((target) => {
        const theirs = layerOf(target)
        return theirs !== undefined && !layers[layerOf(path) ?? '']?.includes(theirs)
      })
      .map((target) => `${path} imports ${target}`),
  )
  const folding = layered.filter(
    ({ path, text }) => layerOf(path) === 'fold' && /from 'pg'/.test(text),
  )
  t.same([...offending, ...folding.map(({ path }) => `${path} knows the database`)], [])
  t.end()
})

t.test('time and randomness are injected', (t) => {
  const time =
    /\bDate\.now\b|\bnew Date\(\s*\)|(?<!new )\bDate\(\s*\)|\bperformance\.(?:now|timeOrigin)\b|\bhrtime\b/
  const asksForTime = sources.filter(({ text }) => time.test(text)).map(({ path }) => path)
  t.same(asksForTime, ['src/kernel/clock.ts'], 'the machine is asked for the time in one place')
  const random = /\bMath\.random\b|\brandom(?:UUID|Bytes|Int|FillSync)\b/
  const users = sources
    .filter(({ path }) => !path.startsWith('infra/'))
    .filter(({ text }) => random.test(text))
  t.same(users.map(({ path }) => path).sort(), [
    // The secret that the embedded default makes for itself on its first start.
    'src/cli/marker-secret.ts',
    'src/kernel/ids.ts',
    'src/kernel/random.ts',
  ])
  const inRooms = sources.filter(
    ({ path }) =>
      !assembly.has(roomOf(path)) && !path.startsWith('src/kernel/') && !path.startsWith('infra/'),
  )
  t.same(
    inRooms.filter(({ text }) => /\b(?:system|wall)Clock\b/.test(text)).map(({ path }) => path),
    // The default of an argument: a provider may name a date to wait for.
    ['src/families/kit/http/refusals.ts'],
    'unix time is read where everything is put together',
  )
  t.end()
})
