import { connect, type Socket } from 'node:net'

/** Seeded, so that a failing packet can be sent again: the generator mulberry32. */
export function seededPicks(seed: number) {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
  const below = (end: number): number => Math.floor(next() * end)
  return {
    below,
    of: <Value>(values: readonly [Value, ...Value[]] | readonly Value[]): Value =>
      values[below(values.length)] as Value,
    isOne: (outOf: number): boolean => below(outOf) === 0,
  }
}

export type Picks = ReturnType<typeof seededPicks>

/** Where packets go, and what is known of it. */
export interface Target {
  readonly name: string
  readonly port: number
  /** `POST /v1/x` of every route. */
  readonly routes: readonly string[]
  /** Those of callers that are let in, and those of callers that are not. */
  readonly credentials: readonly string[]
  /** Bodies of calls that are begun, by the path. */
  readonly bodies: readonly { readonly line: string; readonly body: string }[]
}

/** How the sender behaves once it has sent what it sends. */
export type End = 'wait' | 'close' | 'half-close' | 'reset'

export interface Packet {
  readonly line: string
  readonly bytes: string
  /** So many are sent, then the others after a pause. */
  readonly firstBytes: number
  readonly pauseMs: number
  readonly end: End
  /** The moment of the end. */
  readonly moment: 'sent' | 'answered' | 'later'
  readonly laterMs: number
}

const METHODS = 'GET GET HEAD POST POST POST PUT PATCH DELETE OPTIONS TRACE CONNECT BREW'.split(' ')
const UNKNOWN = [
  ...['/v1', '/provA', '/provB/v1', '/provC', '/v1beta', '/api/query/v1'].map((at) => `${at}/nope`),
  '/nope',
  '/%zz',
  '/v1/%00',
  '*',
  'http://x/v1/models',
]
const LINES = [
  'nonsense',
  'GET',
  'GET /',
  'GET / HTTP/9.9',
  'GET /a b HTTP/1.1',
  'get / HTTP/1.1',
  'GET / HTTP/1.0',
  'PRI * HTTP/2.0',
  '\x16\x03\x01\x02\x00',
  `GET /${'a'.repeat(20_000)} HTTP/1.1`,
]
const HEADERS = [
  'Bad Header: x',
  ': empty',
  'X-Nul: a\0b',
  'X-Folded: a\r\n b',
  `X-Long: ${'a'.repeat(17_000)}`,
  'Host: a\r\nHost: b',
  'Expect: foo',
  'Expect: 100-continue',
  'Connection: upgrade\r\nUpgrade: websocket',
  'Connection: upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk',
  'Content-Encoding: gzip',
  'Content-Type: multipart/form-data',
  'Content-Type: multipart/form-data; boundary=b',
  'Content-Type: application/json; charset=utf-16',
  'Content-Type: /',
  'Idempotency-Key: a',
  'Range: bytes=0-1,5-',
  'Trailer: x',
  'Transfer-Encoding: gzip',
  'Transfer-Encoding: chunked, identity',
  'Keep-Alive: timeout=0',
  Array.from({ length: 1_200 }, (_, at) => `a${at}:`).join('\r\n'),
]
const LENGTHS = [
  '-1',
  '0',
  '1',
  '9',
  '99999999999999999999',
  '1, 2',
  '0x10',
  '+5',
  ' ',
  '1000000',
  '70000000',
]
const CHUNKS = [
  'ZZ\r\n',
  '-1\r\n',
  'FFFFFFFFFFFFFFFFF\r\n',
  `5;${'x'.repeat(20_000)}\r\nhello\r\n`,
  '5;a=b\r\nhello\r\n',
  '5\r\nhelloworld\r\n',
  '5\nhello\n0\n\n',
  '9\r\nhalf',
  '\r\n',
]
const TRAILERS = [
  'bad trailer\r\n\r\n',
  'x: y\r\n\r\n',
  ': z\r\n\r\n',
  `x: ${'y'.repeat(20_000)}\r\n\r\n`,
  'x: y',
]

const chunk = (text: string): string =>
  `${Buffer.byteLength(text, 'latin1').toString(16)}\r\n${text}\r\n`

const FORM = 'multipart/form-data; boundary=b'
/** Without a type that is known here, a body is not read. */
const TYPES = [['Content-Type: application/json'], ['Content-Type: x/y'], []]
const PART = '--b\r\ncontent-disposition: form-data; name="file"; filename="a.wav"\r\n\r\nRIFF'
const FORMS = [
  `${PART}\r\n--b--\r\n`,
  PART,
  `--b\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nvision\r\n${PART}\r\n--b--`,
  `--b\r\nbad\r\n\r\n\r\n`,
  '--b--',
]

/** A body and the headers that announce it, wrongly. */
function misframed(picks: Picks, body: string): readonly [headers: string, sent: string] {
  const size = Buffer.byteLength(body, 'latin1')
  const part = body.slice(0, picks.below(body.length + 1))
  switch (picks.below(8)) {
    case 0:
      return [`Content-Length: ${size + 1}\r\n`, part]
    case 1:
      return [`Content-Length: ${picks.of(LENGTHS)}\r\n`, part]
    case 2:
      return [`Content-Length: ${size}\r\nContent-Length: ${size + 1}\r\n`, body]
    case 3:
      return [`Content-Length: ${size}\r\nTransfer-Encoding: chunked\r\n`, body]
    case 4:
    case 5:
      return ['Transfer-Encoding: chunked\r\n', `${chunk(body)}0\r\n${picks.of(TRAILERS)}`]
    default:
      return [
        'Transfer-Encoding: chunked\r\n',
        `${picks.isOne(2) ? chunk(`${part} `) : ''}${picks.of(CHUNKS)}`,
      ]
  }
}

function framed(picks: Picks, body: string): readonly [headers: string, sent: string] {
  if (picks.isOne(2)) return [`Content-Length: ${Buffer.byteLength(body, 'latin1')}\r\n`, body]
  return ['Transfer-Encoding: chunked\r\n', `${body === '' ? '' : chunk(body)}0\r\n\r\n`]
}

/** The line and the body of a route, of an unknown one, or of a call that is begun. */
function orderOf(picks: Picks, target: Target) {
  const route = picks.of(target.routes)
  const body = picks.of(['{}', '{"a":', '[]', 'x', ''])
  switch (picks.below(8)) {
    case 0:
    case 1:
      return { ...picks.of(target.bodies), isForm: false }
    case 2:
    case 6:
    case 7:
      return { line: `${picks.of(METHODS)} ${picks.of(UNKNOWN)}`, body, isForm: false }
    case 3:
      return { line: route.replace(/^\S+/, picks.of(METHODS)), body, isForm: false }
    case 4:
      return { line: route, body: picks.of(FORMS), isForm: true }
    default:
      return { line: route, body, isForm: false }
  }
}

/** One request that is malformed, cut, refused, unknown, or none of these. */
export function makePacket(picks: Picks, target: Target): Packet {
  const fault = picks.of(['line', 'header', 'body', 'body', 'body', 'cut', 'none'])
  const { line, body, isForm } = orderOf(picks, target)
  const [framing, sent] = fault === 'body' ? misframed(picks, body) : framed(picks, body)
  const headers = [
    'Host: x',
    ...(picks.isOne(4) ? [] : [`Authorization: Bearer ${picks.of(target.credentials)}`]),
    ...(isForm ? [`Content-Type: ${FORM}`] : picks.of(TYPES)),
    ...(fault === 'header' ? [picks.of(HEADERS)] : []),
    ...(picks.isOne(3) ? ['Connection: close'] : []),
  ]
  const start = fault === 'line' ? picks.of(LINES) : `${line} HTTP/1.1`
  const head = `${start}\r\n${headers.join('\r\n')}\r\n${framing}\r\n`
  const whole = head + sent + (picks.isOne(10) ? 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n' : '')
  const bytes = fault === 'cut' ? whole.slice(0, picks.below(whole.length + 1)) : whole
  return {
    line,
    bytes,
    firstBytes: picks.of([bytes.length, head.length, picks.below(bytes.length + 1)]),
    pauseMs: picks.of([0, 3, 20]),
    end: picks.of<End>(['wait', 'wait', 'close', 'half-close', 'reset']),
    moment: picks.of(['sent', 'answered', 'later']),
    laterMs: picks.below(20),
  }
}

/** A sender that is left without an answer does not wait longer. */
const PATIENCE_MS = 300

function act(socket: Socket, end: End): void {
  if (end === 'close') socket.destroy()
  if (end === 'reset') socket.resetAndDestroy()
  if (end === 'half-close') socket.end()
}

/** Sends one and returns the status of the first answer; undefined if there was none. */
export function sendPacket(port: number, packet: Packet): Promise<number | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    let status: number | undefined
    const patience = setTimeout(() => socket.destroy(), PATIENCE_MS)
    const bytes = Buffer.from(packet.bytes, 'latin1')
    let later: NodeJS.Timeout | undefined
    socket.on('error', () => undefined)
    socket.on('close', () => {
      clearTimeout(patience)
      clearTimeout(later)
      resolve(status)
    })
    socket.on('end', () => socket.destroy())
    socket.on('data', (data: Buffer) => {
      if (status !== undefined) return
      status = Number(/^HTTP\/1\.1 (\d{3})/.exec(data.toString('latin1'))?.[1] ?? 0)
      if (packet.moment === 'answered') act(socket, packet.end)
      // A kept connection would stay open for the whole of its time.
      if (packet.end === 'wait') setTimeout(() => socket.destroy(), 2)
    })
    const finish = (): void => {
      if (packet.moment === 'sent') act(socket, packet.end)
      if (packet.moment === 'later') later = setTimeout(act, packet.laterMs, socket, packet.end)
    }
    const rest = (): void => {
      if (!socket.destroyed) socket.write(bytes.subarray(packet.firstBytes), finish)
    }
    socket.once('connect', () =>
      socket.write(bytes.subarray(0, packet.firstBytes), () => {
        if (packet.firstBytes >= bytes.length) finish()
        else later = setTimeout(rest, packet.pauseMs)
      }),
    )
  })
}
