import { join } from 'node:path'
import t from 'tap'
import { loadConfig } from '../src/config.ts'
import { nameFaults, namesInFile } from '../src/environment.ts'

/** Misspelled names of variables are refused. */

const none = { env: {}, inFile: [], allowed: [], channelsFile: undefined }

t.test('a name of the environment that is nearly one of ours is refused', async (t) => {
  for (const [name, near] of [
    ['DATBASE_POOL_SIZE', 'DATABASE_POOL_SIZE'],
    ['TRUSTED_PROXYS', 'TRUSTED_PROXIES'],
    ['DATABASEURL', 'DATABASE_URL'],
    ['log_level', 'LOG_LEVEL'],
  ] as const)
    t.same(nameFaults({ ...none, env: { [name]: 'x' } }), [
      `${name} is not a variable of Tollgate: did you mean ${near}? Correct it, or list it in TOLLGATE_ALLOW_UNKNOWN`,
    ])
  t.throws(() => loadConfig({ DATBASE_URL: 'x', PORT: 'y' }), /2 fault\(s\)[^]*DATABASE_URL/)
})

t.test('names of other programs pass: short or far ones, and ours with another word', async (t) => {
  const env = {
    IS_SANDBOX: '1',
    LOG_LEVEL_X: 'x',
    PART: 'x',
    HOSTS: 'x',
    HOSTNAME: 'x',
    PATH: 'x',
    AWS_REGION: 'x',
    npm_command: 'x',
  }
  t.same(nameFaults({ ...none, env }), [])
})

t.test('an unknown name of the file is refused, near or not, once', async (t) => {
  const text = 'PORT=1\nport=2\nSOMETHING=3\nLOG_LEVLE=4\nNODE_OPTIONS=5\nPGSSLMODE=6\n'
  const path = join(t.testdir({ settings: text }), 'settings')
  const inFile = namesInFile(path)
  const env = Object.fromEntries(inFile.map((name) => [name, 'x']))
  t.same(nameFaults({ ...none, env, inFile }), [
    'LOG_LEVLE in .env is not a variable of Tollgate: did you mean LOG_LEVEL? Correct it, or list it in TOLLGATE_ALLOW_UNKNOWN',
    'SOMETHING in .env is not a variable of Tollgate; remove it, or list it in TOLLGATE_ALLOW_UNKNOWN',
    'port in .env is not a variable of Tollgate: did you mean PORT? Correct it, or list it in TOLLGATE_ALLOW_UNKNOWN',
  ])
  t.same(namesInFile(join(path, 'none')), [])
})

t.test('a name passes that is allowed, or holds a credential of the channel file', async (t) => {
  const file = `channels:
  - credential: { env: S3_BUCKETS }
  - credential:
      env: "LOG_LEVELS"
`
  const channelsFile = join(t.testdir({ 'channels.yaml': file }), 'channels.yaml')
  const env = { S3_BUCKETS: 'x', LOG_LEVELS: 'x', DATA_DIRS: 'x' }
  const inFile = ['S3_BUCKETS', 'UPSTREAM_KEY']
  t.match(nameFaults({ ...none, env, inFile, channelsFile }), [
    /^UPSTREAM_KEY in \.env is not/,
    /^DATA_DIRS is not .* DATA_DIR\?/,
  ])
  const allowed = ['DATA_DIRS', 'UPSTREAM_KEY']
  t.same(nameFaults({ ...none, env, inFile, allowed, channelsFile }), [])
  t.same(loadConfig({ DATA_DIRS: 'x', TOLLGATE_ALLOW_UNKNOWN: 'OTHER, DATA_DIRS' }).port, 8080)
})
