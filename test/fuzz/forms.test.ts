import * as fc from 'fast-check'
import t from 'tap'
import { defaultLimits } from '../../src/api/app.ts'
import { asModel, nowMs, startApp } from '../api/support/app.ts'
import { MemoryFiles, MemoryMedia } from '../api/support/memory-media.ts'
import { attempt } from './support.ts'
import { character } from '../helpers/characters.ts'

/** Forms as nobody would send them: cut, doubled, misnamed, with bytes of any kind. */

const files = new MemoryFiles(nowMs)
const fileForm = { ...defaultLimits.fileForm, fileBytes: 4_000, bodyBytes: 20_000 }
const media = new MemoryMedia(nowMs)
const harness = await startApp({
  files: { kept: files, media },
  limits: { fileForm, mediaForm: fileForm },
})
t.teardown(async () => harness.app.close())

const RUNS = 250

const names = fc.oneof(
  fc.constantFrom(
    'file',
    'purpose',
    'image',
    'image[]',
    'prompt',
    'model',
    '__proto__',
    'toString',
    '',
  ),
  fc.string({ maxLength: 120 }),
)
const filenames = fc.oneof(
  fc.constantFrom(
    'a.png',
    '',
    '..',
    '../../etc/passwd',
    'C:\\a',
    'a/b',
    '.',
    'a\u0000b',
    '\u202ea',
  ),
  fc.string({ unit: character, maxLength: 300 }),
)
const values = fc.oneof(
  fc.constantFrom(
    'vision',
    'user_data',
    'voice_clone',
    'prompt_audio',
    '',
    '--',
    '\r\n',
    '\r\n--b',
    '\r\n--b--',
    '\r\n--b\r\n',
  ),
  fc.string({ unit: character, maxLength: 200 }),
  fc.integer({ min: 0, max: 6_000 }).map((length) => 'x'.repeat(length)),
)
const headers = fc.constantFrom(
  '',
  'content-type: image/png\r\n',
  'content-type: application/json\r\n',
  'content-transfer-encoding: base64\r\n',
  'content-disposition: form-data\r\n',
  'x: \r\n\t folded\r\n',
  'no colon\r\n',
)
const part = fc
  .record({
    name: names,
    filename: fc.option(filenames),
    value: values,
    headers,
    quote: fc.boolean(),
  })
  .map(({ name, filename, value, headers, quote }) => {
    const text = (given: string): string => (quote ? `"${given}"` : given)
    const file = filename === null ? '' : `; filename=${text(filename)}`
    return `--b\r\ncontent-disposition: form-data; name=${text(name)}${file}\r\n${headers}\r\n${value}\r\n`
  })
const good = [
  '--b\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nvision\r\n',
  '--b\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nvoice_clone\r\n',
  '--b\r\ncontent-disposition: form-data; name="file"; filename="a.png"\r\n\r\nbytes\r\n',
]
const body = fc
  .record({
    parts: fc.array(fc.oneof(part, fc.constantFrom(...good)), { maxLength: 12 }),
    end: fc.constantFrom('--b--\r\n', '--b--', '', '--b', '--c--\r\n', '--b--\r\nepilogue'),
    preamble: fc.constantFrom('', '\r\n', 'preamble\r\n'),
    cut: fc.option(fc.nat({ max: 2_000 })),
  })
  .map(({ parts, end, preamble, cut }) => {
    const whole = Buffer.from(`${preamble}${parts.join('')}${end}`)
    return cut === null ? whole : whole.subarray(0, cut)
  })
const types = fc.oneof(
  { weight: 8, arbitrary: fc.constant('multipart/form-data; boundary=b') },
  fc.constantFrom(
    'multipart/form-data',
    'multipart/form-data; boundary=',
    'multipart/form-data; boundary="b"',
    'multipart/form-data; boundary=c',
    `multipart/form-data; boundary=${'b'.repeat(300)}`,
    'multipart/mixed; boundary=b',
    'Multipart/Form-Data; Boundary=b; charset=utf-16',
  ),
)

for (const url of ['/v1/files', '/v1/images/edits', '/provB/v1/files/upload'])
  void t.test(`forms of any kind to ${url} are answered`, async (t) => {
    const statuses = new Map<number, number>()
    await fc.assert(
      fc.asyncProperty(body, types, async (payload, contentType) => {
        const { statusCode } = await attempt(harness, {
          method: 'POST',
          url,
          headers: { ...asModel, 'content-type': contentType },
          payload,
        })
        statuses.set(statusCode, (statuses.get(statusCode) ?? 0) + 1)
      }),
      { numRuns: RUNS },
    )
    if (url.startsWith('/provB')) {
      t.ok((statuses.get(200) ?? 0) > RUNS / 4, 'most of what is wrong is told with 200')
      for (const { filename } of media.uploads) t.notMatch(filename, /[/\\\p{Cc}]|^\.{0,2}$/u)
      return
    }
    t.ok((statuses.get(400) ?? 0) > RUNS / 4, JSON.stringify([...statuses]))
    if (url !== '/v1/files') return
    const { data } = (await harness.app.inject({ url, headers: asModel })).json<{
      readonly data: readonly { readonly id: string; readonly filename: string }[]
    }>()
    t.same(new Set(data.map(({ id }) => id)), new Set(files.bytes.keys()), 'nothing else is kept')
    for (const { filename } of data) t.notMatch(filename, /[/\\\p{Cc}]|^\.{0,2}$/u)
  })
