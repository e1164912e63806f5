import { isDeepStrictEqual } from 'node:util'
import * as fc from 'fast-check'
import t from 'tap'
import { createFrameParser, type Frame } from '../../../../src/families/kit/http/frame-parser.ts'
import { beginFrameStream } from '../../../../src/families/kit/http/frame-stream.ts'
import { ExchangeError } from '../../../../src/families/kit/http/open-stream.ts'
import { character } from '../../../helpers/characters.ts'

const LIMIT = 1_000_000

function split(pieces: readonly string[]): readonly Frame[] {
  const parser = createFrameParser(LIMIT)
  return pieces.flatMap((piece) => parser.feed(piece))
}

/** What the standard says, of the whole text at once. */
function reference(text: string): readonly Frame[] {
  const frames: Frame[] = []
  let event: string | undefined
  let data: string[] = []
  for (const line of text.split(/\r\n|\r|\n/).slice(0, -1)) {
    const [, field, value] = /^([^:]*)(?:: ?(.*))?$/su.exec(line) ?? []
    if (line === '') {
      if (data.length > 0) frames.push({ event, data: data.join('\n') })
      event = undefined
      data = []
    } else if (field === 'data') data.push(value ?? '')
    else if (field === 'event') event = value === '' ? undefined : value
  }
  return frames
}

/** Text cut at arbitrary places. */
const cut = (text: string, at: readonly number[]): readonly string[] => {
  const places = [...new Set(at.map((one) => one % (text.length + 1)))].toSorted((a, b) => a - b)
  return [0, ...places].map((from, index) => text.slice(from, places[index] ?? text.length))
}

const value = fc.stringMatching(/^[ -z|~é☀]{0,12}$/)
const line = fc.oneof(
  value.map((text) => `data: ${text}`),
  value.map((text) => `data:${text}`),
  value.map((text) => `event: ${text}`),
  value.map((text) => `: ${text}`),
  fc.constantFrom('data', 'event', 'id: 7', 'retry: 10', 'other: x', ':'),
)
const stream = fc
  .array(fc.tuple(fc.array(line, { maxLength: 4 }), fc.constantFrom('\n', '\r\n', '\r')), {
    maxLength: 8,
  })
  .map((events) =>
    events.map(([lines, eol]) => [...lines, '', ''].join(eol).slice(0, -eol.length) + eol).join(''),
  )

t.test('frames are split as the standard says, at any chunk boundary', async (t) => {
  fc.assert(
    fc.property(stream, fc.array(fc.nat(), { maxLength: 12 }), (text, at) => {
      // The reference waits for what may follow a last CR; a line of comment makes that moot.
      const whole = `${text}:\n`
      return isDeepStrictEqual(split(cut(whole, at)), reference(whole))
    }),
    { numRuns: 300 },
  )
  t.pass()
})

t.test('LF, CR and CRLF end lines, also when CR and LF come apart', async (t) => {
  const two: Frame[] = [
    { event: undefined, data: '1' },
    { event: undefined, data: '2' },
  ]
  t.same(split(['data: 1\n\ndata: 2\n\n']), two)
  t.same(split(['data: 1\r\rdata: 2\r\r']), two)
  t.same(split(['data: 1\r\n\r', '\ndata: 2\r', '\n\r', '\n']), two)
  t.same(split(['\uFEFFdata: 1\n\ndata: 2\n\n']), two)
})

t.test('several data lines are joined, comments and other fields are left out', async (t) => {
  t.same(split([': hi\nid: 1\nevent: a\ndata: 1\ndata:2\ndata\n\n']), [
    { event: 'a', data: '1\n2\n' },
  ])
  t.same(split(['event: a\n\ndata: 1\n\n']), [{ event: undefined, data: '1' }])
})

t.test('a bare object outside any field is kept', async (t) => {
  const pretty = '{\n  "error": {\n    "code": 503\n  }\n}\n'
  t.same(split([`data: 1\n\n${pretty}\n`]).at(-1)?.data, pretty.trimEnd())
  const parser = createFrameParser(LIMIT)
  parser.feed('data: 1\r\n\r\n{"error":')
  parser.feed('{"code":503}}')
  t.equal(parser.end()?.data, '{"error":{"code":503}}')
})

t.test('the rest at the end is emitted once', async (t) => {
  const parser = createFrameParser(LIMIT)
  t.same(parser.feed('data: 1\n\ndata: 2'), [{ event: undefined, data: '1' }])
  t.same(parser.end(), { event: undefined, data: '2' })
  t.equal(parser.end(), undefined)
})

t.test(
  'a frame beyond its bound is refused, in one piece or in many, in one line or in many',
  async (t) => {
    const bounded = () => createFrameParser(100)
    t.throws(() => bounded().feed(`data: ${'x'.repeat(101)}`), { name: 'BoundError' })
    const pieces = bounded()
    t.throws(() => {
      for (let piece = 0; piece < 30; piece += 1) pieces.feed('data: 12345\n')
    })
    const many = bounded()
    for (let frame = 0; frame < 100; frame += 1) many.feed('data: 1234567890\n\n')
  },
)

const LONG = 'x'.repeat(32 * 1024 + 1)
const text = fc.oneof(
  fc.string({ unit: character, maxLength: 12 }),
  fc.constantFrom(LONG, `${LONG}"`, `\\${LONG}`, `"${LONG}\\`),
)

t.test('a frame beyond its bound loses only its long strings, at any boundary', async (t) => {
  const members = fc.dictionary(fc.string({ maxLength: 6 }), fc.oneof(text, fc.nat()))
  fc.assert(
    fc.property(members, fc.array(fc.nat(), { maxLength: 12 }), (object, at) => {
      const line = `data: ${JSON.stringify({ ...object, first: LONG, usage: { tokens: 7 } })}\n\n`
      const parser = createFrameParser(line.length - 3)
      // What arrives as one piece is not cut.
      const frames = cut(line, [line.length >> 1, ...at]).flatMap((piece) => parser.feed(piece))
      const kept = Object.entries(object).map(([name, value]) => {
        const written = JSON.stringify(value).length - 2
        return [name, typeof value === 'string' && written > 32 * 1024 ? '' : value]
      })
      const expected = { ...Object.fromEntries(kept), first: '', usage: { tokens: 7 } }
      const [frame, ...more] = frames
      return (
        more.length === 0 &&
        frame?.isCut === true &&
        isDeepStrictEqual(JSON.parse(frame.data), JSON.parse(JSON.stringify(expected)))
      )
    }),
    { numRuns: 200 },
  )
  const parser = createFrameParser(40_000)
  t.equal(parser.feed(`data: "${LONG}`).length, 0)
  t.match(parser.feed(`${LONG}"\n\ndata: 1\n\n`), [{ isCut: true }, { data: '1' }])
  t.notOk(parser.feed('data: 2\n\n')[0]?.isCut, 'the next one is whole')
})

t.test('a large frame in small pieces takes time in proportion to its size', async (t) => {
  const parser = createFrameParser(LIMIT * 100)
  const piece = 'x'.repeat(16_384)
  parser.feed('data: ')
  for (let fed = 0; fed < 2_000; fed += 1) parser.feed(piece)
  const [frame] = parser.feed('\n\n')
  t.equal(frame?.data.length, 2_000 * 16_384)
})

t.test('a stream that the gateway ends does not count against its provider', async (t) => {
  const reader = {
    read: (frame: Frame) => frame,
    tally: () => ({ finished: false, failure: undefined }),
    over: () => false,
  }
  const ending = async (read: () => Promise<readonly Buffer[] | undefined>) => {
    const stream = await beginFrameStream(
      {
        statusCode: 200,
        headers: {},
        read,
        receivedBytes: () => 0,
        wasHeldBack: () => false,
        hurry: () => undefined,
        cancel: () => undefined,
        discard: () => undefined,
      },
      reader,
      { upstreamRequestId: undefined, restMs: undefined },
      { maxFrameLength: 100, maxBytes: 1_000_000 },
    )
    return stream.read()
  }
  const caught = (error: unknown): unknown => error
  const endless = (): Promise<readonly Buffer[]> => Promise.resolve([Buffer.alloc(60, 'x')])
  t.match(await ending(endless).catch(caught), { kind: 'malformed', endedByGateway: true })
  const broken = (reason: ExchangeError['reason']) => () =>
    Promise.reject(new ExchangeError(reason, true))
  t.match(await ending(broken('aborted')).catch(caught), {
    kind: 'unavailable',
    endedByGateway: true,
  })
  t.match(await ending(broken('network')).catch(caught), {
    kind: 'unavailable',
    endedByGateway: false,
  })
  t.match(await ending(broken('timeout')).catch(caught), { kind: 'timeout', endedByGateway: false })
})

t.test(
  'a complete result waits long for its usage, and shortly for what may follow it',
  async (t) => {
    const hurried: number[] = []
    const seen: string[] = []
    const reader = {
      read: ({ data }: Frame) => {
        seen.push(data)
        return data
      },
      tally: () => ({
        finished: seen.includes('end'),
        failure: undefined,
        usage: seen.includes('usage') ? {} : undefined,
      }),
      over: () => false,
    }
    const sent = ['usage early', 'text', 'end', 'nothing', 'usage', 'more']
    const stream = await beginFrameStream(
      {
        statusCode: 200,
        headers: {},
        read: () => {
          const data = sent.shift()
          return Promise.resolve(
            data === undefined ? undefined : [Buffer.from(`data: ${data}\n\n`)],
          )
        },
        receivedBytes: () => 0,
        wasHeldBack: () => false,
        hurry: (idleTimeoutMs) => void hurried.push(idleTimeoutMs),
        cancel: () => undefined,
        discard: () => undefined,
      },
      reader,
      { upstreamRequestId: undefined, restMs: undefined },
      { maxFrameLength: 100, maxBytes: 1_000_000 },
    )
    const hurriedAt = new Map<string, number>()
    for (let chunks = await stream.read(); chunks !== undefined; chunks = await stream.read())
      for (const chunk of chunks) hurriedAt.set(chunk, hurried.at(-1) ?? 0)
    t.same(hurried, [10_000, 1_000], 'each once')
    t.same(
      [...hurriedAt],
      [
        ['usage early', 0],
        ['text', 0],
        ['end', 10_000],
        ['nothing', 10_000],
        ['usage', 1_000],
        ['more', 1_000],
      ],
    )
  },
)
