import t from 'tap'
import type { TaskRow } from '../../../projections/tasks/query.ts'
import { viewOf } from '../../../src/app/tasks/reads.ts'

const row = (part: Partial<TaskRow>): TaskRow => ({
  platformId: 'video_1',
  nativeId: 'native_1',
  tenantId: 'tenant_1',
  userId: 'user_1',
  tokenId: 'token_1',
  family: 'video-a',
  surface: 'prov-a',
  requestId: 'req_1',
  model: 'domestic-video-2-0',
  channelId: 'channel_1',
  region: 'domestic',
  submission: 'submitted',
  status: 'succeeded',
  hidden: false,
  settled: true,
  settings: {},
  output: null,
  usage: { tokens: 7 },
  error: null,
  marker: 'marker',
  markerIsOurs: true,
  requestedAtMs: 1,
  updatedAtMs: 2,
  observedAtMs: 3,
  awaitingUsageAtMs: null,
  expiresAtMs: 4,
  revision: 5n,
  position: 6n,
  ...part,
})
const urls = { url: 'https://results.example.com/1' }

t.test('a success is shown with its result once it is settled, not before', async (t) => {
  t.match(viewOf(row({}), urls), { status: 'succeeded', urls, usage: { tokens: 7 } })
  t.match(viewOf(row({ settled: false }), urls), {
    status: 'running',
    urls: undefined,
    usage: undefined,
  })
  t.match(viewOf(row({}), {}), { status: 'succeeded', urls: undefined }, 'its links are over')
})

t.test('every status but success is shown as it is', async (t) => {
  for (const status of ['queued', 'running', 'failed', 'expired', 'cancelled'] as const)
    t.equal(viewOf(row({ status, settled: false }), undefined).status, status)
})
