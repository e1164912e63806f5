import { type ClientRequest, type IncomingMessage, request } from 'node:http'

/** A caller on a socket of its own, who may leave at any byte. */

type Family = 'chat' | 'responses' | 'native' | 'messages'
export const families: readonly Family[] = ['chat', 'responses', 'native', 'messages']

/** Nobody waits longer for an answer. */
const PATIENCE_MS = 120_000

export interface Asking {
  readonly family: Family
  readonly streamed: boolean
  readonly model: string
  /** The test's own name for the call; no two have the same. */
  readonly marker: string
  /** Words of `[[sandbox …]]`. */
  readonly switches?: string
  readonly webSearch?: boolean
  /** Leaves once this many bytes of the body have come; with 0, once the head has. */
  readonly leaveAfterBytes?: number
  /** Leaves this long after the request was sent, whatever has come. */
  readonly leaveAfterMs?: number
  /** Called with all that has come so far, each time something comes. */
  readonly onText?: (text: string, callId: string | undefined) => void
}

/** What a caller got. */
export interface Heard {
  readonly asking: Asking
  readonly status: number | undefined
  /** Reason why no whole answer came; empty if one did. */
  readonly failure: string
  readonly callId: string | undefined
  readonly text: string
  /** `whole`: to the end that HTTP says it has; `left`: by the caller's own choice. */
  readonly ended: 'whole' | 'broken' | 'left'
  /** It was told that the result is whole: the body of a 200, or the stream's last frame. */
  readonly delivered: boolean
}

/** How a stream says that its result is whole. */
export const terminal: Readonly<Record<Family, RegExp>> = {
  chat: /"finish_reason":"|data: \[DONE\]/,
  responses: /^event: response\.(completed|incomplete)/m,
  native: /"finishReason":"/,
  messages: /"stop_reason":"|^event: message_stop/m,
}

function bodyOf({ family, model, streamed, marker, switches, webSearch }: Asking): object {
  const sandbox = switches === undefined ? '' : ` [[sandbox ${switches}]]`
  const prompt = `Say something. [[client=${marker}]]${sandbox}`
  const tools = webSearch === true ? { tools: [{ type: 'web_search' }] } : {}
  switch (family) {
    case 'chat':
      return { model, messages: [{ role: 'user', content: prompt }], stream: streamed }
    case 'responses':
      return { model, input: prompt, stream: streamed, ...tools }
    case 'native':
      return { contents: [{ role: 'user', parts: [{ text: prompt }] }] }
    case 'messages': {
      const messages = [{ role: 'user', content: prompt }]
      return { model, max_tokens: 4_096, messages, stream: streamed }
    }
  }
}

function pathOf({ family, model, streamed }: Asking): string {
  switch (family) {
    case 'chat':
      return '/v1/chat/completions'
    case 'responses':
      return '/v1/responses'
    case 'native':
      return streamed
        ? `/v1beta/models/${model}:streamGenerateContent?alt=sse`
        : `/v1beta/models/${model}:generateContent`
    case 'messages':
      return '/v1/messages'
  }
}

/** Asks, listens, and never throws: a gateway that dies is something to be told of. */
export function ask(address: string, token: string, asking: Asking): Promise<Heard> {
  const { family, streamed, leaveAfterBytes, leaveAfterMs, onText } = asking
  const payload = JSON.stringify(bodyOf(asking))
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(payload),
  }
  return new Promise((resolve) => {
    const pieces: string[] = []
    let sizeBytes = 0
    let response: IncomingMessage | undefined
    let over = false
    let leaveTimer: NodeJS.Timeout | undefined
    let failure = ''
    const end = (ended: Heard['ended']): void => {
      if (over) return
      over = true
      clearTimeout(leaveTimer)
      clearTimeout(patience)
      const text = pieces.join('')
      const status = response?.statusCode
      const whole = streamed ? terminal[family].test(text) : ended === 'whole'
      resolve({
        asking,
        status,
        failure,
        callId: headerOf(response, 'x-call-id'),
        text,
        ended,
        delivered: status === 200 && whole,
      })
      sent.destroy()
    }
    const listen = (incoming: IncomingMessage): void => {
      response = incoming
      if (leaveAfterBytes === 0) return end('left')
      incoming.setEncoding('utf8')
      incoming.on('data', (piece: string) => {
        pieces.push(piece)
        sizeBytes += Buffer.byteLength(piece)
        onText?.(pieces.join(''), headerOf(incoming, 'x-call-id'))
        if (leaveAfterBytes !== undefined && sizeBytes >= leaveAfterBytes) end('left')
      })
      incoming.on('end', () => end(incoming.complete ? 'whole' : 'broken'))
      incoming.on('error', () => end('broken'))
      incoming.on('close', () => end('broken'))
    }
    const options = { method: 'POST', headers, agent: false } as const
    const sent: ClientRequest = request(`${address}${pathOf(asking)}`, options, listen)
    const fail = (reason: string): void => {
      failure = reason
      end('broken')
    }
    const patience = setTimeout(() => fail(`no end within ${PATIENCE_MS} ms`), PATIENCE_MS)
    sent.on('error', (error) => fail(error.message))
    sent.on('finish', () => {
      if (leaveAfterMs !== undefined) leaveTimer = setTimeout(end, leaveAfterMs, 'left')
    })
    sent.end(payload)
  })
}

function headerOf(response: IncomingMessage | undefined, name: string): string | undefined {
  const value = response?.headers[name]
  return typeof value === 'string' ? value : undefined
}
