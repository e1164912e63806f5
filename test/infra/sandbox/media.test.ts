import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inflateSync } from 'node:zlib'
import t from 'tap'
import { mp4OfSeconds } from '../../../infra/sandbox/media/pictures.ts'
import { create, query, sandboxFor } from './client.ts'

interface Box {
  readonly type: string
  readonly at: number
  readonly data: Buffer
}

function boxes(bytes: Buffer, base = 0): Box[] {
  const found: Box[] = []
  for (let at = 0; at < bytes.length;) {
    const size = bytes.readUInt32BE(at)
    if (size < 8 || at + size > bytes.length) throw new Error(`bad box at ${base + at}`)
    const type = bytes.subarray(at + 4, at + 8).toString('latin1')
    found.push({ type, at: base + at, data: bytes.subarray(at + 8, at + size) })
    at += size
  }
  return found
}

function inside(list: readonly Box[], ...path: readonly string[]): Buffer {
  const [type, ...rest] = path
  const box = list.find((one) => one.type === type)
  if (box === undefined) throw new Error(`no box ${type}`)
  return rest.length === 0 ? box.data : inside(boxes(box.data, box.at + 8), ...rest)
}

const TABLE = ['moov', 'trak', 'mdia', 'minf', 'stbl'] as const

void t.test('the video is an MP4 whose tables point to whole H.264 frames', async (t) => {
  const bytes = mp4OfSeconds(5)
  const top = boxes(bytes)
  t.strictSame(
    top.map((box) => box.type),
    ['ftyp', 'moov', 'mdat'],
  )
  const sizes = inside(top, ...TABLE, 'stsz')
  const count = sizes.readUInt32BE(8)
  t.equal(count, 120, '24 frames a second')
  const offset = inside(top, ...TABLE, 'stco').readUInt32BE(8)
  t.equal(offset, (top[2]?.at ?? 0) + 8)
  let at = offset
  for (let i = 0; i < count; i += 1) {
    const size = sizes.readUInt32BE(12 + 4 * i)
    const length = bytes.readUInt32BE(at)
    const kind = (bytes[at + 4] ?? 0) & 0x1f
    if (length !== size - 4 || kind !== (i === 0 ? 5 : 1)) t.fail(`frame ${i} is broken`)
    at += size
  }
  t.equal(at, bytes.length)
  const duration = inside(top, 'moov', 'mvhd')
  t.equal(duration.readUInt32BE(16) / duration.readUInt32BE(12), 5)
  t.ok(bytes.length < 20_000)
  t.equal(mp4OfSeconds(5), bytes, 'made once')
})

const hasProbe = ((): boolean => {
  try {
    execFileSync('ffprobe', ['-version'], { stdio: 'ignore', timeout: 10_000 })
    return true
  } catch {
    return false
  }
})()

if (hasProbe) {
  void t.test('ffprobe counts every frame', async (t) => {
    const directory = mkdtempSync(join(tmpdir(), 'sandbox-media-'))
    t.teardown(() => rmSync(directory, { recursive: true }))
    const file = join(directory, 'a.mp4')
    writeFileSync(file, mp4OfSeconds(5))
    const args = ['-v', 'error', '-count_frames', '-of', 'csv=p=0']
    const shown = ['-show_entries', 'stream=codec_name,width,height,nb_read_frames', file]
    const out = execFileSync('ffprobe', [...args, ...shown], { encoding: 'utf8', timeout: 10_000 })
    t.equal(out.trim(), 'h264,64,64,120')
  })
}

void t.test('result URLs answer without a credential, and stay unchanged', async (t) => {
  const sandbox = await sandboxFor(t, { queuedMs: 0, runningMs: 0 })
  const id = await create(sandbox.url, 'x', { return_last_frame: true, output_format: 'mov' })
  const { content } = (await query(sandbox.url, id)).json
  t.strictSame((await query(sandbox.url, id)).json.content, content)
  t.ok(content.video_url.startsWith(`${sandbox.url}/media/video-a/${id}.mov?`))
  const video = await fetch(content.video_url)
  t.equal(video.status, 200)
  t.equal(video.headers.get('content-type'), 'video/quicktime')
  t.same(Buffer.from(await video.arrayBuffer()), mp4OfSeconds(5))

  const frame = await fetch(content.last_frame_url)
  t.equal(frame.headers.get('content-type'), 'image/png')
  const png = Buffer.from(await frame.arrayBuffer())
  t.equal(png.subarray(1, 4).toString(), 'PNG')
  t.strictSame([png.readUInt32BE(16), png.readUInt32BE(20)], [64, 64])
  const data = png.indexOf('IDAT')
  const pixels = inflateSync(png.subarray(data + 4, data + 4 + png.readUInt32BE(data - 4)))
  t.equal(pixels.length, 64 * (1 + 64 * 3))
})

void t.test(
  '403 once expired, forged or fetched too often; 404 for a file that is not there',
  async (t) => {
    const sandbox = await sandboxFor(t, {
      queuedMs: 0,
      runningMs: 0,
      urlSeconds: 60,
      maxDownloads: 2,
    })
    const id = await create(sandbox.url, 'x')
    const url: string = (await query(sandbox.url, id)).json.content.video_url
    const get = async (target: string): Promise<readonly [number, string]> => {
      const response = await fetch(target)
      return [response.status, (await response.text()).replace(/^[^]*<Code>(\w+)<[^]*$/, '$1')]
    }
    t.match(url, /X-Tos-Expires=60&/)
    t.equal((await get(url))[0], 200)
    t.strictSame(await get(url.replace('X-Tos-Expires=60', 'X-Tos-Expires=99')), [
      403,
      'SignatureDoesNotMatch',
    ])
    t.strictSame(await get(url.slice(0, -4)), [403, 'SignatureDoesNotMatch'])
    t.equal((await get(url))[0], 200)
    t.strictSame(await get(url), [403, 'DownloadLimitExceeded'])
    await sandbox.reset()
    t.strictSame(await get(url), [404, 'NoSuchKey'])
    sandbox.advance(60_000)
    t.strictSame(await get(url), [403, 'ExpiredSignature'])
  },
)
