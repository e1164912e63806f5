import t from 'tap'
import { cacheableUrls, signedUntilMs } from '../../../src/app/tasks/result-urls.ts'

const SIGNED_MS = Date.parse('2026-01-02T03:06:00Z')
const url =
  'https://x.test/a.mp4?X-Tos-Date=20260102T030600Z&X-Tos-Expires=86400&X-Tos-Signature=ab'
const DAY_MS = 86_400_000

t.test('the expiry of a signed URL is read from the URL', async (t) => {
  t.equal(signedUntilMs(url), SIGNED_MS + DAY_MS)
  t.equal(signedUntilMs('https://x.test/a?expires=1767323160'), 1_767_323_160_000)
  t.equal(signedUntilMs('https://x.test/a.mp4'), undefined)
  t.equal(signedUntilMs('https://x.test/a?X-Expires=86400'), undefined)
  t.equal(signedUntilMs('not a url'), undefined)
})

t.test('URLs are kept until shortly before the first of them ends', async (t) => {
  const cached = cacheableUrls(
    { video_url: url, last_frame_url: 'https://x.test/b.png' },
    { nowMs: SIGNED_MS + 1_000, renderedAtMs: SIGNED_MS - 3_600_000 },
  )
  t.same(Object.keys(cached.urls), ['video_url', 'last_frame_url'])
  t.equal(cached.expiresAtMs, SIGNED_MS - 3_600_000 + DAY_MS - 60_000)
})

t.test('an expired URL is not cached, and a missing one only briefly', async (t) => {
  const nowMs = SIGNED_MS + DAY_MS
  t.same(cacheableUrls({ video_url: url }, { nowMs, renderedAtMs: undefined }), {
    urls: {},
    expiresAtMs: nowMs + 60_000,
  })
  t.same(cacheableUrls(undefined, { nowMs, renderedAtMs: undefined }).urls, {})
})
