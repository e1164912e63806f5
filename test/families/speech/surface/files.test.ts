import { Readable } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import type { UploadInput } from '../../../../src/app/calls/uploads/types.ts'
import { DomainError } from '../../../../src/kernel/errors.ts'
import { asModel, nowMs, startApp } from '../../../api/support/app.ts'
import { MemoryMedia } from '../../../api/support/memory-media.ts'

const HEAD =
  '--b\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nvoice_clone\r\n' +
  '--b\r\ncontent-disposition: form-data; name="file"; filename="me.wav"\r\n\r\n'
const AFTER = '\r\n--b\r\ncontent-disposition: form-data; name="note"\r\n\r\n'
const END = 'x\r\n--b--\r\n'
const PIECE = 'x'.repeat(16 * 1024)
/** More than is held anywhere on the way. */
const MANY = 40
const TURNS = 50

async function turns(count: number): Promise<void> {
  for (let done = 0; done < count; done += 1) await turn()
}

/** An account that fails: after a first part of the file, or once it has the whole of it. */
class FailingMedia extends MemoryMedia {
  takesAll = false
  failed = false

  override async upload({ body }: UploadInput): Promise<never> {
    const pieces = body[Symbol.asyncIterator]()
    let readBytes = 0
    do readBytes += (await pieces.next()).value?.length ?? 0
    while (this.takesAll && readBytes < PIECE.length)
    if (this.takesAll) {
      // It asks for more, which comes when the form has ended well.
      pieces.next().catch(() => undefined)
      await turns(TURNS / 10)
    }
    this.failed = true
    throw new DomainError('upstream_unavailable', 'gone', { acceptance: 'unknown' })
  }
}

const media = new FailingMedia(nowMs)
const { app } = await startApp({ files: { media } })
t.teardown(() => app.close())

/** Sends a form; `after` comes between the file and a field that follows it. */
function send(pieces: number, after: () => Promise<void>) {
  const form = async function* (): AsyncGenerator<Buffer, void> {
    yield Buffer.from(HEAD)
    for (let sent = 0; sent < pieces; sent += 1) yield Buffer.from(PIECE)
    yield Buffer.from(AFTER)
    await after()
    yield Buffer.from(END)
  }
  return app.inject({
    method: 'POST',
    url: '/provB/v1/files/upload',
    headers: { ...asModel, 'content-type': 'multipart/form-data; boundary=b' },
    payload: Readable.from(form()),
  })
}

t.test('an upload that fails while its file still arrives is answered', async (t) => {
  const answer = await send(MANY, () => Promise.resolve())
  t.equal(answer.statusCode, 502)
  t.match(answer.json(), { base_resp: { status_code: 1033 } })
})

t.test('an upload that fails during the rest of its form is answered', async (t) => {
  media.takesAll = true
  media.failed = false
  let failedBefore = false
  const answer = await send(1, async () => {
    await turns(TURNS)
    failedBefore = media.failed
  })
  t.ok(failedBefore, 'it had failed while the form was read')
  t.match(answer.json(), { base_resp: { status_code: 2013, status_msg: /`note` is not a field/ } })
})
