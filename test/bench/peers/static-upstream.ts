import { createServer, type ServerResponse } from 'node:http'

/**
 * The upstream of the benchmarks: reads and drops a request's body, answers the same chat completion
 * every time (of 0.4 kB, or of 20 kB for 4,096 tokens), the same message, the same image where images are asked for, a video that waits for ever, the same speech where a text is
 * to be spoken, or a stream of `frames` chunks, one every `frame-ms`. A chunk's content is
 * the machine's monotonic clock in microseconds, the same in every process, so that whoever reads it
 * knows how long it took.
 *
 *     node static-upstream.js [frames] [frame-ms]
 */
const frames = Number(process.argv[2] ?? 200)
const frameMs = Number(process.argv[3] ?? 100)

const head = { id: 'chatcmpl-bench', created: 1_700_000_000, model: 'text-basic' }
const usage = { prompt_tokens: 24, completion_tokens: 32, total_tokens: 56 }
function answerOf(sentences: number): Buffer {
  const content = 'A boat of paper leaves the quay. '.repeat(sentences)
  const message = { role: 'assistant', content }
  const choices = [{ index: 0, message, finish_reason: 'stop' }]
  return Buffer.from(JSON.stringify({ ...head, object: 'chat.completion', choices, usage }))
}
const answer = answerOf(8)
/** For who asks for many tokens. */
const longAnswer = answerOf(600)

/** An answer of as many bytes on the wire of messages. */
const message = Buffer.from(
  JSON.stringify({
    id: 'msg_bench',
    type: 'message',
    role: 'assistant',
    model: head.model,
    content: [{ type: 'text', text: 'A boat of paper leaves the quay. '.repeat(8) }],
    stop_reason: 'end_turn',
    usage: { input_tokens: usage.prompt_tokens, output_tokens: usage.completion_tokens },
  }),
)

/** A PNG by its first bytes, as base64 of 2 MiB. */
const picture = Buffer.alloc(1.5 * 1024 * 1024, 'paper boat')
picture.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
const image = Buffer.from(
  JSON.stringify({
    created: 1_700_000_000,
    data: [{ b64_json: picture.toString('base64') }],
    quality: 'low',
    usage: { input_tokens: 24, output_tokens: 272, total_tokens: 296 },
  }),
)

let videos = 0

/** A creation has an id of its own; whoever asks for it is told that it waits. */
function videoAnswer(method: string | undefined, url: string): Buffer {
  if (method === 'POST') videos += 1
  const task = { id: url.split('/').at(-1), status: 'queued' }
  return Buffer.from(JSON.stringify(method === 'POST' ? { task_id: `4${videos}` } : { task }))
}
/** Speech of 200 kB, in hexadecimal. */
const speech = Buffer.from(
  JSON.stringify({
    data: { audio: Buffer.alloc(100_000, 'paper boat').toString('hex'), status: 2 },
    extra_info: { audio_length: 6_250, usage_characters: 104 },
    trace_id: 'bench',
    base_resp: { status_code: 0, status_msg: 'success' },
  }),
)

const nowMicros = (): string => String(process.hrtime.bigint() / 1000n)

function chunk(members: object): string {
  return `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', ...members })}\n\n`
}

const [before = '', after = ''] = chunk({
  choices: [{ index: 0, delta: { content: '@' }, finish_reason: null }],
}).split('@')
const ending = [
  chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }),
  chunk({ choices: [], usage }),
  'data: [DONE]\n\n',
].join('')

function stream(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const startedMs = performance.now()
  let sent = 0
  const next = (): void => {
    if (response.destroyed) return
    if (sent === frames) {
      response.end(ending)
      return
    }
    response.write(`${before}t${nowMicros()} ${after}`)
    sent += 1
    // By the clock, not by the last frame: the pace must not slip under load.
    setTimeout(next, Math.max(0, startedMs + sent * frameMs - performance.now()))
  }
  next()
}

function chatAnswer(start: string, end: string): Buffer {
  const many = '"max_tokens":4096'
  return start.includes(many) || end.includes(many) ? longAnswer : answer
}

const server = createServer((request, response) => {
  // `"stream":true` stands among the first bytes or the last: callers of benchmarks send it first,
  // gateways may write it last.
  let start = ''
  let end = ''
  request.on('data', (data: Buffer) => {
    if (start.length < 512) start += data.toString('latin1', 0, 512)
    end = (end + data.toString('latin1', Math.max(0, data.length - 512))).slice(-512)
  })
  request.on('end', () => {
    if (/"stream":\s*true/.test(start) || /"stream":\s*true/.test(end)) {
      stream(response)
      return
    }
    const { url = '', method } = request
    const other = url.includes('/images/')
      ? image
      : url.includes('/t2a_')
        ? speech
        : url.endsWith('/messages')
          ? message
          : chatAnswer(start, end)
    const body = url.includes('/video_generation') ? videoAnswer(method, url) : other
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length })
    response.end(body)
  })
})
server.keepAliveTimeout = 120_000
server.listen({ port: 0, host: '127.0.0.1', backlog: 4_096 }, () => {
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${port}` })}\n`)
})
process.on('SIGTERM', () => process.exit(0))
