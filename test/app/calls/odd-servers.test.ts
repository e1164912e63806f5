import t from 'tap'
import type { TextFamily } from '../../families/text/wires.ts'
import { until } from '../../helpers/eventually.ts'
import { answerBy, gateway, listen, readAll } from './support/scripted-upstream.ts'

await listen(t)

/**
 * Servers of every kind, on every wire of text: what is whole is delivered and billed by what the
 * server counted, or by its size where that cannot be, and what is not whole is free.
 */

const TEXT = 'Good morning to you and to all of yours.'
/** What its server counts for it, and what an estimate is. */
const COUNTED = 10
const frame = (data: object | string): string =>
  `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`

/** How a server of a wire writes its answers; a choice is one of several alternatives. */
interface Server {
  readonly piece: (choice?: number) => string
  readonly end: (choice?: number) => string
  readonly usage: (output: number) => string
  readonly whole: (output: number | undefined, choices?: number) => object
  /** The request for two answers; absent where the wire has one. */
  readonly two?: object
}

const upTo = (count: number): readonly number[] => Array.from({ length: count }, (_, at) => at)
const chatUsage = (output: number) => ({ prompt_tokens: 5, completion_tokens: output })
const nativeUsage = (output: number) => ({ promptTokenCount: 5, candidatesTokenCount: output })
const responseOf = (output: number | undefined) => ({
  id: 'r',
  status: 'completed',
  output: [{ type: 'message', id: 'm', content: [{ type: 'output_text', text: TEXT }] }],
  ...(output === undefined ? {} : { usage: { input_tokens: 5, output_tokens: output } }),
})
const content = { parts: [{ text: TEXT }] }

const servers: Readonly<Record<TextFamily, Server>> = {
  chat: {
    piece: (index = 0) => frame({ choices: [{ index, delta: { content: TEXT } }] }),
    end: (index = 0) => frame({ choices: [{ index, delta: {}, finish_reason: 'stop' }] }),
    usage: (output) => frame({ choices: [], usage: chatUsage(output) }),
    whole: (output, choices = 1) => ({
      choices: upTo(choices).map((index) => ({
        index,
        message: { content: TEXT },
        finish_reason: 'stop',
      })),
      ...(output === undefined ? {} : { usage: chatUsage(output) }),
    }),
    two: { n: 2 },
  },
  responses: {
    piece: () => frame({ type: 'response.output_text.delta', item_id: 'm', delta: TEXT }),
    end: () => '',
    usage: (output) => frame({ type: 'response.completed', response: responseOf(output) }),
    whole: responseOf,
  },
  native: {
    piece: (index = 0) => frame({ candidates: [{ index, content }] }),
    end: (index = 0) => frame({ candidates: [{ index, finishReason: 'STOP' }] }),
    usage: (output) => frame({ usageMetadata: nativeUsage(output) }),
    whole: (output, choices = 1) => ({
      candidates: upTo(choices).map((index) => ({ index, content, finishReason: 'STOP' })),
      ...(output === undefined ? {} : { usageMetadata: nativeUsage(output) }),
    }),
    two: { generationConfig: { candidateCount: 2 } },
  },
  messages: {
    piece: () =>
      frame({ type: 'message_start', message: { usage: { input_tokens: 5 } } }) +
      frame({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: TEXT } }),
    end: () => frame({ type: 'message_delta', delta: { stop_reason: 'end_turn' } }),
    usage: (output) =>
      frame({ type: 'message_delta', delta: {}, usage: { output_tokens: output } }),
    whole: (output) => ({
      type: 'message',
      content: [{ type: 'text', text: TEXT }],
      stop_reason: 'end_turn',
      ...(output === undefined ? {} : { usage: { input_tokens: 5, output_tokens: output } }),
    }),
  },
}

type Expected = readonly [output: number, measurement: 'reported' | 'estimated'] | 'free'

for (const [name, server] of Object.entries(servers) as [TextFamily, Server][]) {
  /** Makes one call, stays or leaves, and says how it was recorded. */
  const record = async (
    text: string,
    {
      body = {},
      leaves = false,
      cut = false,
    }: { body?: object; leaves?: boolean; cut?: boolean } = {},
  ): Promise<Expected> => {
    const { stream, events, gone, running } = gateway(t, name, { body: { ...body } })
    answerBy(async (send, response) => {
      await send(text)
      if (cut) setTimeout(() => response.destroy(), 20)
      else response.end()
    })
    const { frames } = await stream()
    if (leaves) gone.abort()
    else await readAll(frames)
    await until(() => running.inFlight() === 0 && events.length === 1)
    return outcomeOf(events)
  }
  const outcomeOf = (events: ReturnType<typeof gateway>['events']): Expected => {
    const [ended] = events
    if (ended?.type !== 'CallSettled') return 'free'
    const line = ended.data.settlement.lines.find(({ sku }) => sku.includes('-output-'))
    return [Number(ended.data.usage['output']), line?.measurement ?? 'reported']
  }
  const { piece, end, usage, two } = server
  const said = piece() + end()

  t.test(`${name}: streams, read and left`, async (t) => {
    const cases: readonly (readonly [what: string, text: string, expected: Expected])[] = [
      ['no end mark', said + usage(COUNTED), [COUNTED, 'reported']],
      ['an end mark', `${said}${usage(COUNTED)}${frame('[DONE]')}`, [COUNTED, 'reported']],
      ['usage twice', said + usage(1) + usage(COUNTED), [COUNTED, 'reported']],
      ['too little usage', said + usage(1), [3, 'estimated']],
      ['too much usage', said + usage(9_000_000), [COUNTED, 'estimated']],
    ]
    for (const [what, text, expected] of cases)
      for (const leaves of [false, true]) {
        // The first terminal event of that wire ends it.
        if (what === 'usage twice' && name === 'responses') continue
        t.same(await record(text, { leaves }), expected, `${what}, ${leaves ? 'left' : 'read'}`)
      }
    if (name !== 'responses') t.same(await record(said), [COUNTED, 'estimated'], 'no usage')
    t.equal(await record(piece(), { cut: true }), 'free', 'it dies in the midst of its answer')
    t.equal(await record(piece() + usage(COUNTED).slice(0, 12)), 'free', 'half a frame at its end')
  })

  t.test(`${name}: whole answers`, async (t) => {
    const cases: readonly (readonly [output: number | undefined, choices: number, Expected])[] = [
      [COUNTED, 1, [COUNTED, 'reported']],
      [undefined, 1, [COUNTED, 'estimated']],
      [1, 1, [3, 'estimated']],
      [9_000_000, 1, [COUNTED, 'estimated']],
      [0, 1, [0, 'reported']],
      // Two came, and one was counted.
      ...(two === undefined ? [] : ([[COUNTED, 2, [2 * COUNTED, 'estimated']]] as const)),
    ]
    for (const [output, choices, expected] of cases) {
      const { whole, events } = gateway(t, name, { body: { ...(choices > 1 ? two : {}) } })
      answerBy(
        async (send, response) => {
          await send(JSON.stringify(server.whole(output, choices)))
          response.end()
        },
        { type: 'application/json' },
      )
      await whole()
      t.same(outcomeOf(events), expected, `${output} of ${choices}`)
    }
  })

  t.test(`${name}: failures in every shape cost nothing and keep their meaning`, async (t) => {
    const cases: readonly (readonly [status: number, body: object | string, code: string])[] = [
      [400, { detail: 'messages are too long' }, 'call_refused'],
      [422, { detail: [{ loc: ['body', 'temperature'], msg: 'too hot' }] }, 'call_refused'],
      [400, 'messages are too long', 'call_refused'],
      [400, '<html>400</html>', 'call_refused'],
      [400, { detail: 'Invalid API key' }, 'call_refused'],
      [500, 'oops', 'upstream_unavailable'],
      [500, '<html>500</html>', 'upstream_unavailable'],
      [500, { detail: 'oops' }, 'upstream_unavailable'],
      [503, { error: { message: 'busy' } }, 'upstream_unavailable'],
      [529, { error: { message: 'busy' } }, 'upstream_overloaded'],
      [529, '<html>529</html>', 'upstream_overloaded'],
      [429, { detail: 'slow down' }, 'rate_limited'],
      [200, '<html>a page</html>', 'upstream_malformed'],
      [200, {}, 'upstream_malformed'],
    ]
    for (const [status, body, code] of cases)
      for (const streamed of [false, true]) {
        const { stream, whole, events } = gateway(t, name)
        answerBy(
          async (send, response) => {
            await send(typeof body === 'string' ? body : JSON.stringify(body))
            response.end()
          },
          { status, type: 'application/json' },
        )
        const what = `${status} ${JSON.stringify(body)}`
        const asked: Promise<unknown> = streamed ? stream() : whole()
        await t.rejects(asked, { code }, what)
        t.notOk(
          events.some(({ type }) => type === 'CallSettled'),
          what,
        )
      }
  })

  if (two !== undefined)
    t.test(`${name}: fewer answers than asked for`, async (t) => {
      t.same(await record(said + usage(COUNTED), { body: two }), [COUNTED, 'reported'])
      t.equal(await record(said, { body: two }), 'free', 'neither an end nor usage')
      const both = piece(0) + piece(1) + end(0) + end(1)
      t.same(await record(both + usage(2 * COUNTED), { body: two }), [2 * COUNTED, 'reported'])
      t.same(await record(both + usage(COUNTED), { body: two }), [2 * COUNTED, 'estimated'])
    })
}
