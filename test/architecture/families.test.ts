import t from 'tap'
import { sources } from './sources.ts'

/** Where the wires of text may be named; everything else asks the registries. */
const textRooms =
  /^src\/(?:domain\/families\/text|families\/(?:chat|responses|native|kit\/text|providers\.ts|index\.ts)|api\/v1|api\/v1beta|app\/calls\/text)(?:\/|$)/

t.test('the wires of text are named where text is at home', (t) => {
  const names = /['"`](?:chat|responses|native)['"`]|\b(?:chat|responses|native):/
  const inside = sources.filter(({ path, text }) => textRooms.test(path) && names.test(text))
  t.ok(inside.length > 5, `${inside.length} files name them`)
  const outside = sources.filter(
    ({ path, text }) => path.startsWith('src/') && !textRooms.test(path) && names.test(text),
  )
  t.same(
    outside.map(({ path }) => path),
    [],
  )
  t.end()
})

t.test('families do not know each other, and aggregates know none by name', (t) => {
  const families = 'src/domain/families/'
  /** A folder of `families`; undefined for the files beside them that list and describe families. */
  const roomIn = (path: string): string | undefined => {
    const [room, file] = path.slice(families.length).split('/')
    return path.startsWith(families) && file !== undefined ? room : undefined
  }
  const offending = sources
    .filter(({ path }) => path.startsWith('src/domain/'))
    .flatMap(({ path, imports }) =>
      imports
        .filter((target) => {
          const theirs = roomIn(target)
          if (theirs === undefined || theirs === roomIn(path)) return false
          if (path.startsWith(families)) return roomIn(path) !== undefined && theirs !== 'checks'
          return true
        })
        .map((target) => `${path} imports ${target}`),
    )
  t.ok(sources.filter(({ path }) => roomIn(path) !== undefined).length > 5)
  t.same(offending, [])
  t.end()
})

/** The words by which a family is known, and its rooms: nothing else names it, but the lists of families. */
const familyRooms: Readonly<
  Record<string, { readonly words: RegExp; readonly rooms: readonly string[] }>
> = {
  'video-a': {
    words: /video-?a/i,
    rooms: [
      'src/domain/families/video-a/',
      'src/families/video-a/',
      'src/api/prov-a/',
      'infra/sandbox/video-a/',
    ],
  },
  'video-b': {
    words: /video-b(?![a-z])|[vV]ideoB(?![a-z])|\bh3-/,
    rooms: [
      'src/domain/families/video-b/',
      'src/families/video-b/',
      'src/api/prov-b/v2/',
      'infra/sandbox/video-b/',
    ],
  },
  'video-c': {
    words: /video-c|[vV]ideoC(?![a-z])|\bclip(?:q\d|\d\.)/,
    rooms: [
      'src/domain/families/video-c/',
      'src/families/video-c/',
      'src/api/prov-c/',
      'infra/sandbox/video-c/',
    ],
  },
  image: {
    words: /\bimage-2|\.\/image\/|family: 'image'|FAMILY = 'image'/,
    rooms: ['src/domain/families/image/', 'src/families/image/', 'infra/sandbox/image/'],
  },
  gen: {
    words: /\bgen-(?:2|3\.1|3-pro-image)|\.\/gen\/|family: 'gen'|FAMILY = 'gen'/,
    rooms: ['src/domain/families/gen/', 'src/families/gen/', 'infra/sandbox/gen/'],
  },
  'art-b': {
    words: /\bart-?b\b/i,
    rooms: ['src/domain/families/art-b/', 'src/families/art-b/', 'infra/sandbox/art-b/'],
  },
  speech: {
    words: /\bspeech-2|(?:family:|FAMILY =|SPEECH =) 'speech'/,
    rooms: [
      'src/domain/families/speech/',
      'src/families/speech/',
      'src/api/prov-b/v1/',
      'infra/sandbox/speech/',
    ],
  },
}
/** Shows a model of it to whoever reads its documentation. */
const examples = ['src/api/v1/images/schemas.ts']
const lists = ['src/families/index.ts', 'src/families/providers.ts', 'infra/sandbox/registry.ts']

t.test('no file outside the rooms of a family names it', (t) => {
  const known = sources
    .map(({ path }) => /^src\/domain\/families\/([^/]+)\//.exec(path)?.[1])
    .filter((name) => name !== undefined && name !== 'checks' && name !== 'text')
  t.same(new Set(known), new Set(Object.keys(familyRooms)), 'every family has its rooms')
  for (const [family, { words, rooms }] of Object.entries(familyRooms)) {
    const naming = sources.filter(({ text }) => words.test(text)).map(({ path }) => path)
    for (const room of rooms)
      t.ok(
        naming.some((path) => path.startsWith(room)),
        `${room} names ${family}`,
      )
    t.same(
      naming.filter(
        (path) =>
          ![...lists, ...examples].includes(path) && !rooms.some((room) => path.startsWith(room)),
      ),
      [],
    )
  }
  t.end()
})
