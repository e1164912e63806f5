import t from 'tap'
import { readMessages } from '../../../../src/families/messages/surface/request.ts'
import { atOnce } from '../../../../src/kernel/turns.ts'

const times = (count: number, one: (at: number) => unknown) =>
  Array.from({ length: count }, (_none, at) => one(at))
const ask = (more: object) => ({ model: 'm', max_tokens: 5, messages: [user('Hi')], ...more })
const user = (content: unknown) => ({ role: 'user', content })

/** The number of pauses in the reading of a body. */
function pausesOf(body: object): number {
  const work = readMessages({ ...body })
  for (let pauses = 0; ; pauses += 1) if (work.next().done === true) return pauses
}

t.test('a large body is read in parts, a usual one at once', async (t) => {
  t.equal(pausesOf(ask({ tools: times(50, (at) => ({ name: `tool-${at}` })) })), 0)
  t.equal(pausesOf(ask({ messages: times(60, () => user([{ type: 'text', text: 'x' }])) })), 0)
  const nested = times(99_000, () => ({ a: [] }))
  const large = {
    blocks: ask({ messages: [user(times(199_000, () => ({})))] }),
    messages: ask({ messages: times(66_000, () => user('x')) }),
    nested: ask({ messages: [user([{ type: 'x', nested }])] }),
    tools: ask({ tools: times(10_000, (at) => ({ name: `tool-${at}` })) }),
    others: ask({ others: nested }),
    system: ask({ system: times(199_000, () => ({})) }),
  }
  for (const [name, body] of Object.entries(large)) t.ok(pausesOf(body) > 60, name)
})

t.test('400 names the item at fault, wherever it is', async (t) => {
  const faults: readonly (readonly [body: object, param: string])[] = [
    [ask({ messages: [...times(900, () => user('x')), 7] }), 'messages[900]'],
    [ask({ messages: [user('x'), { role: '', content: 'x' }] }), 'messages[1].role'],
    [ask({ messages: [user('x'), { content: [] }] }), 'messages[1].role'],
    [ask({ messages: [user('x'), user(null)] }), 'messages[1].content'],
    [ask({ messages: [user('x'), user(5)] }), 'messages[1].content'],
    [ask({ messages: [user([...times(1_500, () => ({})), 'x'])] }), 'messages[0].content[1500]'],
    [ask({ system: ['x'] }), 'system[0]'],
    [ask({ system: 5 }), 'system'],
    [ask({ tools: [{ name: 'own' }, null] }), 'tools[1]'],
    [ask({ tools: times(10_001, () => ({ name: 'own' })) }), 'tools'],
    [ask({ tools: [{ name: 'own', file_id: 'f' }] }), 'tools[0].file_id'],
    [
      ask({ messages: [user('x'), user([{}, { a: [{ source: { file_id: 'f' } }] }])] }),
      'messages[1].content[1].a[0].source.file_id',
    ],
    [ask({ container: 'c' }), 'container'],
  ]
  for (const [body, param] of faults)
    t.throws(() => atOnce(readMessages({ ...body })), {
      code: 'invalid_request',
      message: new RegExp(`^\`${param.replaceAll(/[.[\]]/g, String.raw`\$&`)}\` `),
      details: { param },
    })
})

t.test('the same body measures the same, whether its blocks are many or few', async (t) => {
  const sizeOf = (content: unknown) =>
    atOnce(readMessages(ask({ messages: [user(content)] }))).inputSize
  const block = { type: 'text', text: 'four' }
  const few = sizeOf(times(1_024, () => block))
  t.same(few, { characters: 4_096, textBytes: 4_096, mediaBytes: 0 })
  t.same(sizeOf(times(4_096, () => block)).textBytes, 4 * 4_096)
  t.equal(
    sizeOf([{ type: 'image', source: { type: 'url', url: 'https://example.com/a' } }]).heldTokens,
    12_000,
  )
  const described = { name: 'own', description: 'x'.repeat(200_000) }
  const { inputSize } = atOnce(readMessages(ask({ tools: [described] })))
  const exact = JSON.stringify(described).length
  t.ok(Math.abs((inputSize.textBytes ?? 0) - exact) < 100, `${inputSize.textBytes} of ${exact}`)
})
