import t from 'tap'
import { sources } from './sources.ts'

/** Where the wires of text may be named; everything else asks the registries. */
const textRooms = /^src\/families\/(?:chat|responses|native|messages|text|index\.ts)(?:\/|$)/

t.test('the text wires are named in text folders only', (t) => {
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

t.test('aggregates import no family and no schema checker', (t) => {
  const catalog = sources.filter(({ path }) => path.startsWith('src/domain/catalog/'))
  t.ok(catalog.length > 3, `read ${catalog.length} files`)
  const offending = sources
    .filter(({ path }) => path.startsWith('src/domain/') && !path.startsWith('src/domain/catalog/'))
    .flatMap(({ path, imports }) =>
      imports
        .filter((target) => target.startsWith('src/domain/catalog/checks/'))
        .map((target) => `${path} imports ${target}`),
    )
  t.same(offending, [])
  t.end()
})

/** The words by which a family is known: only its own rooms and the lists of families have them. */
const familyWords: Readonly<Record<string, RegExp>> = {
  'video-a': /video-?a/i,
  'video-b': /video-b(?![a-z])|[vV]ideoB(?![a-z])|\bh3-/,
  'video-c': /video-c|[vV]ideoC(?![a-z])|\bclip(?:q\d|\d\.)/,
  image: /\bimage-2|\.\/image\/|family: 'image'|FAMILY = 'image'/,
  gen: /\bgen-(?:2|3\.1|3-pro-image)|\.\/gen\/|family: 'gen'|FAMILY = 'gen'/,
  'art-b': /\bart-?b\b/i,
  audio: /\baudio-basic|\.\/audio\/|(?:AUDIO|FAMILY) = 'audio'/,
  messages: /\.\/messages\/|(?:name:|FAMILY =|textSandbox\() ?'messages'/,
  speech: /\bspeech-2|(?:family:|FAMILY =|SPEECH =) 'speech'/,
}
const lists = ['src/families/index.ts', 'infra/sandbox/registry.ts']

t.test('no file outside a family’s folders names the family', (t) => {
  const known = sources
    .map(({ path }) => /^src\/families\/([^/]+)\//.exec(path)?.[1])
    .filter((name) => name !== undefined && name !== 'kit' && name !== 'text')
  t.same(
    new Set(known),
    new Set([...Object.keys(familyWords), 'chat', 'responses', 'native']),
    'every family has its words',
  )
  for (const [family, words] of Object.entries(familyWords)) {
    const rooms = [`src/families/${family}/`, `infra/sandbox/${family}/`]
    const naming = sources.filter(({ text }) => words.test(text)).map(({ path }) => path)
    for (const room of rooms)
      t.ok(
        naming.some((path) => path.startsWith(room)),
        `${room} names ${family}`,
      )
    t.same(
      naming.filter(
        (path) => !lists.includes(path) && !rooms.some((room) => path.startsWith(room)),
      ),
      [],
      family,
    )
  }
  t.end()
})
