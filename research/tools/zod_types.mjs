// Arguments of tools, written as users of Zod write them.
//
// `both(z)` are types that Zod 3 and Zod 4 have, `four(z)` those that only Zod 4 has. A value is an object type: the
// arguments of the tool whose name is the key.

export function both(z) {
  const point = z.object({ x: z.number(), y: z.number() });
  const address = z.object({
    street: z.string().min(1),
    city: z.string().min(1).max(80),
    zip: z.string().regex(/^\d{5}(-\d{4})?$/),
    country: z.string().length(2).default("US"),
  });
  const priority = z.enum(["low", "normal", "high", "urgent"]);
  const json = z.lazy(() => z.union([z.string(), z.number(), z.boolean(), z.null(), z.array(json), z.record(z.string(), json)]));
  const category = z.object({ name: z.string(), children: z.lazy(() => z.array(category)).optional() });
  const comment = z.object({ body: z.string(), replies: z.lazy(() => z.array(comment)), parent: z.lazy(() => comment.nullable()).optional() });
  const page = (item) => z.object({ items: z.array(item), next: z.string().nullable(), total: z.number().int().nonnegative() });
  const circle = z.object({ kind: z.literal("circle"), center: point, radius: z.number().positive() });
  const square = z.object({ kind: z.literal("square"), corner: point, side: z.number().positive() });
  const polygon = z.object({ kind: z.literal("polygon"), points: z.array(point).min(3).max(12) });
  return {
    no_arguments: z.object({}),
    one_string: z.object({ query: z.string() }),
    described: z.object({
      path: z.string().describe("Absolute path of the file"),
      encoding: z.enum(["utf-8", "latin1"]).describe("How to read it").optional(),
    }),
    optional_fields: z.object({ q: z.string(), limit: z.number().optional(), cursor: z.string().optional() }),
    nullable_fields: z.object({ assignee: z.string().nullable(), due: z.string().nullable().optional() }),
    nullish_field: z.object({ note: z.string().nullish(), rank: z.number().int().nullish() }),
    defaults: z.object({
      depth: z.number().int().min(1).max(10).default(3),
      recursive: z.boolean().default(false),
      sort: z.enum(["name", "size"]).default("name"),
    }),
    enum_field: z.object({ priority }),
    native_enum: z.object({ level: z.nativeEnum({ Debug: "debug", Info: "info", Error: "error" }) }),
    numeric_enum: z.object({ code: z.nativeEnum({ Ok: 0, Warn: 1, Fail: 2, 0: "Ok", 1: "Warn", 2: "Fail" }) }),
    literals: z.object({ type: z.literal("invoice"), version: z.literal(2), draft: z.literal(true), nothing: z.literal(null) }),
    literal_union: z.object({ mode: z.union([z.literal("r"), z.literal("w"), z.literal("rw")]) }),
    mixed_literals: z.object({ value: z.union([z.literal("auto"), z.literal(0), z.literal(false)]) }),
    union_of_primitives: z.object({ id: z.union([z.string(), z.number()]), flag: z.union([z.boolean(), z.enum(["inherit"])]) }),
    union_of_objects: z.object({ target: z.union([z.object({ file: z.string() }), z.object({ url: z.string().url() })]) }),
    union_with_array: z.object({ to: z.union([z.string().email(), z.array(z.string().email()).min(1)]) }),
    discriminated: z.object({ shape: z.discriminatedUnion("kind", [circle, square, polygon]) }),
    discriminated_list: z.object({ shapes: z.array(z.discriminatedUnion("kind", [circle, square, polygon])).min(1).max(4) }),
    record_of_strings: z.object({ labels: z.record(z.string(), z.string()) }),
    record_of_numbers: z.object({ weights: z.record(z.string(), z.number().min(0).max(1)) }),
    record_of_objects: z.object({ services: z.record(z.string(), z.object({ port: z.number().int().min(1).max(65535), host: z.string().optional() })) }),
    record_of_unknown: z.object({ metadata: z.record(z.string(), z.unknown()).optional() }),
    record_regex_keys: z.object({ env: z.record(z.string().regex(/^[A-Z_][A-Z0-9_]*$/), z.string()) }),
    tuple_pair: z.object({ range: z.tuple([z.number(), z.number()]) }),
    tuple_mixed: z.object({ row: z.tuple([z.string(), z.number().int(), z.boolean().nullable()]) }),
    tuple_rest: z.object({ command: z.tuple([z.string()]).rest(z.string()) }),
    bounded_array: z.object({ tags: z.array(z.string().min(1).max(20)).min(1).max(5) }),
    exact_array: z.object({ rgb: z.array(z.number().int().min(0).max(255)).length(3) }),
    nonempty_array: z.object({ ids: z.array(z.number().int().positive()).nonempty() }),
    nested_arrays: z.object({ matrix: z.array(z.array(z.number())).max(4) }),
    array_of_enums: z.object({ scopes: z.array(z.enum(["read", "write", "admin"])).max(3) }),
    edits: z.object({ path: z.string(), edits: z.array(z.object({ oldText: z.string(), newText: z.string() })), dryRun: z.boolean().default(false) }),
    email: z.object({ email: z.string().email() }),
    url: z.object({ url: z.string().url(), callback: z.string().url().optional() }),
    uuid: z.object({ id: z.string().uuid() }),
    datetime: z.object({ start: z.string().datetime(), end: z.string().datetime().optional() }),
    datetime_offset: z.object({ at: z.string().datetime({ offset: true }) }),
    date_and_time: z.object({ day: z.string().date(), hour: z.string().time() }),
    duration: z.object({ every: z.string().duration() }),
    cuid: z.object({ id: z.string().cuid(), other: z.string().cuid2().optional() }),
    ulid: z.object({ id: z.string().ulid() }),
    emoji: z.object({ reaction: z.string().emoji() }),
    base64: z.object({ data: z.string().base64() }),
    starts_ends: z.object({ url: z.string().startsWith("https://"), file: z.string().endsWith(".json"), part: z.string().includes("/") }),
    trimmed: z.object({ name: z.string().trim().min(1).toLowerCase() }),
    hex_color: z.object({ color: z.string().regex(/^#[0-9a-fA-F]{6}$/) }),
    slug: z.object({ slug: z.string().regex(/^[a-z0-9]+(?:-[a-z0-9]+)*$/).max(40) }),
    insensitive_regex: z.object({ word: z.string().regex(/^(yes|no)$/i) }),
    semver: z.object({ version: z.string().regex(/^\d+\.\d+\.\d+(?:-[\w.]+)?$/) }),
    lookahead_password: z.object({ password: z.string().regex(/^(?=.*[a-z])(?=.*\d)[A-Za-z\d]{8,20}$/) }),
    unanchored_regex: z.object({ ticket: z.string().regex(/[A-Z]{2,5}-\d+/) }),
    integer_bounds: z.object({ page: z.number().int().min(1), perPage: z.number().int().min(1).max(100) }),
    exclusive_bounds: z.object({ ratio: z.number().gt(0).lt(1), temperature: z.number().min(0).max(2) }),
    multiple_of: z.object({ step: z.number().multipleOf(5), price: z.number().multipleOf(0.01).nonnegative() }),
    signs: z.object({ up: z.number().positive(), down: z.number().negative(), floor: z.number().nonnegative(), ceiling: z.number().nonpositive() }),
    strict_object: z.object({ a: z.string(), b: z.number().optional() }).strict(),
    passthrough_object: z.object({ type: z.string() }).passthrough(),
    catchall_object: z.object({ name: z.string() }).catchall(z.number()),
    nested_strict: z.object({ filter: z.object({ field: z.string(), op: z.enum(["eq", "lt", "gt"]), value: z.union([z.string(), z.number()]) }).strict() }).strict(),
    recursive_category: z.object({ category }),
    recursive_comment: z.object({ comment }),
    recursive_json: z.object({ value: json }),
    intersection: z.object({ item: z.intersection(z.object({ id: z.number().int() }), z.object({ name: z.string() })) }),
    intersection_and: z.object({ item: z.object({ a: z.string() }).and(z.object({ b: z.boolean().optional() })).and(z.object({ c: z.number() })) }),
    extended: z.object({ place: address.extend({ note: z.string().optional() }) }),
    merged: z.object({ a: z.string() }).merge(z.object({ b: z.number() })),
    picked: z.object({ place: address.pick({ city: true, country: true }) }),
    omitted: z.object({ place: address.omit({ zip: true }) }),
    partial: z.object({ changes: address.partial() }),
    required_again: z.object({ changes: address.partial().required({ city: true }) }),
    same_type_twice: z.object({ billing: address, shipping: address, history: z.array(address).optional() }),
    branded: z.object({ userId: z.string().uuid().brand("UserId"), count: z.number().int().brand("Count") }),
    coerced: z.object({ count: z.coerce.number().int(), flag: z.coerce.boolean(), text: z.coerce.string() }),
    refined: z.object({ even: z.number().int().refine((n) => n % 2 === 0), text: z.string().refine((s) => s.length > 2) }),
    any_and_unknown: z.object({ any: z.any(), unknown: z.unknown(), optional: z.any().optional() }),
    readonly: z.object({ list: z.array(z.string()).readonly(), point: point.readonly() }),
    generic_page: page(z.object({ id: z.number().int(), title: z.string() })),
    bigint_bounds: z.object({ count: z.number().int().min(-9007199254740991).max(9007199254740991) }),
    null_only: z.object({ reset: z.null(), keep: z.undefined().optional() }),
    deep_nesting: z.object({ a: z.object({ b: z.object({ c: z.object({ d: z.array(z.object({ e: z.string().optional() })) }) }) }) }),
    many_optionals: z.object(Object.fromEntries([..."abcdefghijklmnop"].map((name) => [`opt_${name}`, z.string().max(8).optional()]))),
    unicode_names: z.object({ "größe": z.number(), "naïve name": z.string().max(5), "quote\"d": z.boolean().optional(), "日本": z.enum(["東京", "大阪"]) }),
    enum_with_odd_values: z.object({ unit: z.enum(["°C", "°F", "\"", "\\", "a/b", "", " "]) }),
    search_request: z.object({
      query: z.string().min(1).max(200),
      filters: z.array(z.object({ field: z.string(), operator: z.enum(["=", "!=", "<", ">", "in"]), value: z.union([z.string(), z.number(), z.array(z.string())]) })).optional(),
      sort: z.object({ by: z.string(), order: z.enum(["asc", "desc"]).default("asc") }).optional(),
      page: z.number().int().min(1).default(1),
    }),
    calendar_event: z.object({
      summary: z.string(), start: z.string().datetime({ offset: true }), end: z.string().datetime({ offset: true }),
      attendees: z.array(z.object({ email: z.string().email(), optional: z.boolean().optional() })).max(5).optional(),
      reminders: z.object({ useDefault: z.boolean(), overrides: z.array(z.object({ method: z.enum(["email", "popup"]), minutes: z.number().int().min(0).max(40320) })).optional() }).optional(),
    }),
    set_of_strings: z.object({ names: z.set(z.string()).min(1).max(5) }),
    set_of_numbers: z.object({ numbers: z.set(z.number().int().min(0).max(9)) }),
    map_of_numbers: z.object({ scores: z.map(z.string(), z.number()) }),
    date_object: z.object({ when: z.date() }),
    bigint: z.object({ amount: z.bigint() }),
    transformed: z.object({ csv: z.string().transform((text) => text.split(",")) }),
    preprocessed: z.object({ limit: z.preprocess((value) => Number(value), z.number().int().max(50)) }),
    piped: z.object({ port: z.string().pipe(z.string().regex(/^\d+$/)) }),
    caught: z.object({ size: z.number().catch(1) }),
  };
}

export function four(z) {
  return {
    v4_int: z.object({ a: z.int(), b: z.int32(), c: z.uint32() }),
    v4_float: z.object({ a: z.float32(), b: z.float64() }),
    v4_formats: z.object({ mail: z.email(), id: z.uuidv4(), link: z.url(), address: z.ipv4(), six: z.ipv6().optional() }),
    v4_iso: z.object({ day: z.iso.date(), at: z.iso.datetime(), hour: z.iso.time(), span: z.iso.duration() }),
    v4_ids: z.object({ nano: z.nanoid(), guid: z.guid().optional(), x: z.xid().optional(), k: z.ksuid().optional() }),
    v4_cidr: z.object({ net: z.cidrv4(), net6: z.cidrv6().optional() }),
    v4_base64url: z.object({ data: z.base64url(), token: z.jwt().optional() }),
    v4_e164: z.object({ phone: z.e164() }),
    v4_hex: z.object({ hex: z.hex().max(8), host: z.hostname().optional() }),
    v4_strict: z.strictObject({ name: z.string(), size: z.number().optional() }),
    v4_loose: z.looseObject({ name: z.string() }),
    v4_template: z.object({ size: z.templateLiteral([z.number(), z.enum(["px", "em", "%"])]) }),
    v4_string_bool: z.object({ flag: z.stringbool() }),
    v4_partial_record: z.object({ quota: z.partialRecord(z.enum(["cpu", "memory", "disk"]), z.number().min(0)) }),
    v4_full_record: z.object({ quota: z.record(z.enum(["cpu", "memory"]), z.number().min(0)) }),
    v4_literals: z.object({ status: z.literal([200, 404, 500]), way: z.literal(["up", "down"]) }),
    v4_file_like: z.object({ content: z.string().check(z.minLength(1), z.maxLength(10)) }),
    v4_meta: z.object({ name: z.string().meta({ title: "Name", examples: ["a"], deprecated: true }) }).meta({ id: "Named" }),
    v4_getter: z.object({ get self() { return v4Node(z).optional(); } }),
    v4_nested_union: z.object({ value: z.union([z.string().max(3), z.array(z.union([z.int(), z.null()])).max(2), z.object({ v: z.boolean() })]) }),
    v4_prefault: z.object({ name: z.string().min(2).prefault("me") }),
    v4_xor: z.object({ either: z.xor ? z.xor([z.object({ a: z.string() }), z.object({ b: z.string() })]) : z.string() }),
    v4_number_record: z.object({ byIndex: z.record(z.string().regex(/^\d+$/), z.string()) }),
    v4_optional_tuple: z.object({ at: z.tuple([z.number(), z.number().optional()]) }),
    v4_uppercase: z.object({ code: z.string().uppercase().max(5), low: z.string().lowercase().optional() }),
  };
}

function v4Node(z) {
  const node = z.object({ value: z.number(), get next() { return node.nullable(); } });
  return node;
}
