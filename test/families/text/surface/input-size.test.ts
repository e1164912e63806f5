import t from 'tap'
import { measureInput } from '../../../../src/families/text/surface/input-size.ts'

const held = (...parts: readonly object[]): number =>
  measureInput([[{ role: 'user', content: parts }]], []).heldTokens ?? 0
const nativeHeld = (part: object, level?: string): number =>
  measureInput(
    [{ contents: [{ parts: [part] }], ...(level && { mediaResolution: { level } }) }],
    [],
  ).heldTokens ?? 0

const web = 'https://example.com/a'
const pixel = `data:image/png;base64,${'A'.repeat(80)}`
const chatImage = (url: string, detail?: string) => ({
  type: 'image_url',
  image_url: { url, ...(detail && { detail }) },
})

void t.test('an image counts by its level of detail, in every form and place', (t) => {
  for (const url of [web, pixel]) {
    t.equal(held(chatImage(url)), 3_000)
    t.equal(held(chatImage(url, 'low')), 512)
    t.equal(held(chatImage(url, 'high')), 3_000)
    t.equal(held(chatImage(url, 'original')), 12_000)
    t.equal(held({ type: 'input_image', image_url: url, detail: 'low' }), 512)
    t.equal(held(chatImage(url), chatImage(url, 'low')), 3_512)
  }
  // The wire of a source has no level of detail, and the size of a linked image is not known.
  const source = { type: 'url', url: web }
  t.equal(held({ type: 'image', source: { ...source, media_type: 'image/png' } }), 12_000)
  t.equal(held({ type: 'image', source }), 12_000)
  t.equal(held({ type: 'tool_result', content: [{ type: 'image', source }] }), 12_000)
  const written = { type: 'base64', media_type: 'image/png', data: 'A'.repeat(80) }
  t.equal(held({ type: 'image', source: written }), 3_000)
  const screenshot = { type: 'computer_screenshot', image_url: web }
  const called = [{ type: 'computer_call_output', call_id: 'c', output: screenshot }]
  t.equal(measureInput([called], []).heldTokens, 3_000)
  t.equal(
    measureInput([[{ role: 'user', content: 'x', images: [web, web] }]], []).heldTokens,
    6_000,
  )
  const inline = { inlineData: { mimeType: 'image/png', data: 'A'.repeat(80) } }
  t.equal(nativeHeld(inline), 3_000)
  t.equal(nativeHeld({ ...inline, mediaResolution: { level: 'MEDIA_RESOLUTION_LOW' } }), 512)
  t.equal(nativeHeld(inline, 'MEDIA_RESOLUTION_ULTRA_HIGH'), 12_000)
  t.end()
})

void t.test('a file by URL counts by its possible type', (t) => {
  t.equal(held({ type: 'input_file', file_url: web }), 64_000)
  t.equal(held({ type: 'file', file: { file_url: web } }), 64_000)
  t.equal(held({ type: 'document', source: { type: 'url', url: web } }), 64_000)
  t.equal(held({ type: 'video_url', video_url: { url: web } }), 300_000)
  t.equal(held({ type: 'audio_url', audio_url: { url: web } }), 120_000)
  t.equal(held({ type: 'what-comes-next', where: 'gs://bucket/thing' }), 64_000)
  t.equal(nativeHeld({ fileData: { fileUri: web } }), 300_000)
  t.equal(nativeHeld({ fileData: { fileUri: web, mimeType: 'audio/mp3' } }), 120_000)
  t.equal(nativeHeld({ fileData: { fileUri: web, mimeType: 'application/pdf' } }), 64_000)
  t.equal(
    held({ type: 'input_file', file_data: `data:application/pdf;base64,${'A'.repeat(80)}` }),
    0,
  )
  t.end()
})

void t.test('an item whose type is no text counts by its members', (t) => {
  t.equal(held({ type: [[{ toString: null }, web]] }), 64_000)
  t.equal(held({ type: { toString: null }, image_url: web }), 3_000)
  t.end()
})

void t.test('URLs in text and in citations do not count as files', (t) => {
  t.equal(held({ type: 'text', text: web }), 0)
  t.equal(measureInput([[{ role: 'user', content: web }]], []).heldTokens, undefined)
  const annotations = [{ type: 'url_citation', url_citation: { url: web, title: 'A' } }]
  t.equal(held({ type: 'output_text', text: 'x', annotations }), 0)
  const search = { type: 'web_search_call', id: 'ws_1', action: { type: 'search', url: web } }
  t.equal(measureInput([[search]], []).heldTokens, undefined)
  const results = [{ type: 'web_search_result', url: web, title: 'A', encrypted_content: 'c2' }]
  t.equal(held({ type: 'web_search_tool_result', content: results }), 0)
  t.equal(held({ type: 'search_result', source: web, title: 'A', content: [] }), 0)
  t.end()
})

void t.test('the input of a tool is text, whatever its names and addresses', (t) => {
  const input = { url: web, image: { type: 'image', source: { type: 'url', url: web } } }
  for (const type of ['tool_use', 'server_tool_use', 'mcp_tool_use']) {
    t.equal(held({ type, id: 't', name: 'fetch', input }), 0)
    const { textBytes } = measureInput([[{ type, id: 't', name: 'fetch', input }]], [])
    t.equal(textBytes, 'fetch'.length + JSON.stringify(input).length)
  }
  t.end()
})

void t.test('encrypted content and function results count as text', (t) => {
  const bytes = (value: unknown) => measureInput([value], []).textBytes
  const sealed = 'A'.repeat(4_000)
  t.equal(bytes([{ type: 'reasoning', id: 'rs_1', encrypted_content: sealed }]), 4_000)
  t.equal(bytes([{ type: 'compaction', encrypted_content: sealed }]), 4_000)
  t.equal(bytes([{ parts: [{ text: '', thoughtSignature: sealed }] }]), 4_000)
  t.equal(bytes([{ content: [{ type: 'redacted_thinking', data: sealed }] }]), 4_000)
  const response = { id: sealed, url: web }
  const answered = { functionResponse: { name: 'f', response } }
  t.equal(bytes(answered), JSON.stringify(response).length + 1)
  t.end()
})

void t.test('passed-on members are held, and not part of an estimate', (t) => {
  const documents = [{ text: 'x'.repeat(4_000) }]
  const size = measureInput(['abcd'], [], { documents, temperature: 1 })
  t.ok((size.heldTokens ?? 0) >= 1_000)
  t.equal(size.textBytes, 4)
  t.equal(measureInput(['abcd'], [], { temperature: 1, stream: true }).heldTokens, undefined)
  t.end()
})
