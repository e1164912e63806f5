import { refuse } from '../../../domain/families/checks/fields.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import { checkPublicUrl, type ResolveHost } from '../../../kernel/public-url.ts'
import type { CallPart } from '../../../api/kit/answer-call.ts'
import { readNativeRequest, type NativeRequest } from './request.ts'

/** What judging files given by URL takes. */
export interface FileChecks {
  readonly resolveHost: ResolveHost
  /** Upstream would open files of our account that lie there by itself. */
  readonly upstreamHosts: ReadonlySet<string>
}

/** Files by URL are fetched by upstream; where they lie is checked like a callback. */
async function checkFiles(
  { files }: NativeRequest,
  { resolveHost, upstreamHosts }: FileChecks,
): Promise<void> {
  const verdicts = await Promise.all(files.map(({ uri }) => checkPublicUrl(uri, resolveHost)))
  for (const [index, verdict] of verdicts.entries()) {
    const path = files[index]?.path ?? 'contents'
    if (!verdict.ok) refuse(path, `\`${path}\` ${verdict.reason}`)
    else if (isKeptFile(new URL(verdict.url), upstreamHosts))
      refuse(path, `\`${path}\` must not name a file of the model service`)
  }
}

/** Whether a URL is the name of a file some account keeps, which upstream opens by itself (P8). */
function isKeptFile({ hostname, pathname }: URL, upstreamHosts: ReadonlySet<string>): boolean {
  // An account may be reached through another host than the one its files are named by.
  const isFileName = /^\/v\d+(?:alpha|beta)\d*\/files\//i.test(pathname)
  return isFileName || upstreamHosts.has(hostname.replace(/\.$/, ''))
}

/** What a body asks of a model. @throws DomainError `invalid_request`, naming the field */
export async function readCall(
  body: JsonObject,
  model: string,
  deps: FileChecks,
): Promise<CallPart> {
  const asked = readNativeRequest(model, body)
  await checkFiles(asked, deps)
  const { body: upstream, inputSize } = asked
  return { family: 'native', surface: 'v1beta.generate', model, body: upstream, inputSize }
}
