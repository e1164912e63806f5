import { Type } from 'typebox'
import { managedReporting } from '../../app/accounts/settings.ts'
import { changeMembers, settingRoutes } from './settings.ts'

const tagKeys = Type.Array(Type.String({ maxLength: 64 }), {
  maxItems: 8,
  description:
    'Keys of tags that are recorded of requests from now on; a key has lower-case letters, digits, `_`, `.` and `-`.',
})
const endUser = Type.Boolean({
  description: "Whether the tenant's ids of its end users are recorded. The log is never erased.",
})

const ReportingBody = Type.Object(
  { tag_keys: tagKeys, end_user: Type.Optional(endUser), ...changeMembers },
  { additionalProperties: false, examples: [{ tag_keys: ['project', 'team'], end_user: false }] },
)

/** Routes of what is recorded of requests for reports. */
export const reportingRoutes = settingRoutes({
  setting: managedReporting,
  path: 'reporting',
  operation: 'Reporting',
  roles: { get: ['finance'] },
  get: { summary: 'Get the tags and end users that are recorded for a tenant' },
  put: {
    summary: 'Replace what is recorded of the requests of a tenant: keys of tags, and end users',
    body: ReportingBody,
    failures: [],
  },
  members: { tag_keys: tagKeys, end_user: endUser },
  read: (body) => ({ tagKeys: body.tag_keys, endUser: body.end_user ?? false }),
  toBody: (reporting) => ({ tag_keys: reporting.tagKeys, end_user: reporting.endUser }),
})
