-- Decides on sliding windows. src/domain/window.rs is the specification.
--
-- KEYS    the windows of one request
-- ARGV    the verb ('charge', 'look' or 'refund'); the time in milliseconds, or '' for the server's; then
--         for each window the quota's count and length, and for a refund the instant of the charge
-- Answer  for each window what it counts, the milliseconds until one more, and the instant that was
--         charged or 0
--
-- All windows are charged, or none. A value is a version (1 byte), the sum of the counts (4), then the
-- buckets, oldest first: instant (6) and count (4). What was refused or looked at is not written, unless
-- the clock was set back.

local VERSION, BUCKETS_AT, BUCKET = 1, 6, 10
local EXACT_COUNT_MAX, BUCKETS, LATE_ARRIVAL_MS_MAX = 256, 64, 100
local decode, encode = struct.unpack, struct.pack
local floor, sub = math.floor, string.sub

local verb, now = ARGV[1], tonumber(ARGV[2])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + floor(time[2] / 1000)
end
local stride = verb == 'refund' and 3 or 2

-- Whether admissions at both instants are counted in one bucket.
local function shares_bucket(earlier, later, count, length)
  if earlier == later or count <= EXACT_COUNT_MAX then
    return earlier == later
  end
  local span = math.ceil(length / BUCKETS)
  return floor(earlier / span) == floor(later / span)
end

-- The value with the buckets of the future in one, which is now.
local function clamped(value)
  local past, future = BUCKETS_AT, 0
  for at = BUCKETS_AT, #value, BUCKET do
    local newest, count = decode('>I6I4', value, at)
    if newest > now then
      future = future + count
    else
      past = at + BUCKET
    end
  end
  return sub(value, 1, past - 1) .. encode('>I6I4', now, math.min(future, 0xffffffff))
end

-- Each window as it is now: its value, where its first live bucket begins, the sum of the live ones, the
-- instant of the first, and the time as this window sees it.
local values = redis.call('MGET', unpack(KEYS))
local firsts, sums, oldests, nows, was_set_back = {}, {}, {}, {}, {}
local has_room = true
for i = 1, #KEYS do
  local value, argument = values[i], 3 + (i - 1) * stride
  local first, sum, oldest, seen = BUCKETS_AT, 0, nil, now
  local size = value and #value or 0
  if size > BUCKETS_AT and (size - BUCKETS_AT + 1) % BUCKET == 0 and value:byte() == VERSION then
    local newest = decode('>I6', value, size - 9)
    if newest > now then
      if newest - now <= LATE_ARRIVAL_MS_MAX then
        seen = newest
      else
        value = clamped(value)
        values[i], size, was_set_back[i] = value, #value, true
      end
    end
    local length = tonumber(ARGV[argument + 1])
    sum = decode('>I4', value, 2)
    while first < size do
      local count
      oldest, count = decode('>I6I4', value, first)
      if seen - oldest < length then break end
      sum, first, oldest = sum - count, first + BUCKET, nil
    end
  end
  firsts[i], sums[i], oldests[i], nows[i] = first, sum, oldest, seen
  if sum >= tonumber(ARGV[argument]) then has_room = false end
end

local function charge(i, count, length_text)
  local value, first, sum, seen = values[i], firsts[i], sums[i] + 1, nows[i]
  local head = encode('>BI4', VERSION, sum)
  local last, in_last
  if oldests[i] then
    last, in_last = decode('>I6I4', value, #value - 9)
  end
  if not last then
    value, oldests[i] = head .. encode('>I6I4', seen, 1), seen
  elseif shares_bucket(last, seen, count, length_text) then
    value = head .. sub(value, first, -11) .. encode('>I6I4', seen, in_last + 1)
    if #value == BUCKETS_AT - 1 + BUCKET then oldests[i] = seen end
  else
    value = head .. sub(value, first) .. encode('>I6I4', seen, 1)
  end
  values[i], firsts[i], sums[i] = value, BUCKETS_AT, sum
  redis.call('SET', KEYS[i], value, 'PX', length_text)
end

local function refund(i, count, length, admitted)
  local value, seen = values[i], nows[i]
  admitted = math.min(admitted, seen)
  for at = firsts[i], oldests[i] and #value or 0, BUCKET do
    local newest, in_bucket = decode('>I6I4', value, at)
    if newest >= admitted then
      if not shares_bucket(admitted, newest, count, length) then return end
      local rest = sub(value, at + BUCKET)
      if in_bucket > 1 then rest = encode('>I6I4', newest, in_bucket - 1) .. rest end
      value = encode('>BI4', VERSION, sums[i] - 1) .. sub(value, firsts[i], at - 1) .. rest
      values[i], firsts[i], sums[i] = value, BUCKETS_AT, sums[i] - 1
      if #value < BUCKETS_AT then
        oldests[i] = nil
        redis.call('DEL', KEYS[i])
      else
        oldests[i] = decode('>I6', value, BUCKETS_AT)
        redis.call('SET', KEYS[i], value, 'KEEPTTL')
      end
      return
    end
  end
end

-- The instant that has to expire before one more is admitted: after the limit was lowered, not the first.
local function frees_up(i, must_expire)
  for at = firsts[i], #values[i], BUCKET do
    local newest, count = decode('>I6I4', values[i], at)
    must_expire = must_expire - count
    if must_expire <= 0 then return newest end
  end
end

local answer = {}
for i = 1, #KEYS do
  local argument = 3 + (i - 1) * stride
  local length_text = ARGV[argument + 1]
  local count, length, charged = tonumber(ARGV[argument]), tonumber(length_text), 0
  if was_set_back[i] then
    redis.call('SET', KEYS[i], values[i], 'PX', length_text)
  end
  if verb == 'charge' and has_room then
    charge(i, count, length_text)
    charged = nows[i]
  elseif verb == 'refund' then
    refund(i, count, length, tonumber(ARGV[argument + 2]))
  end
  local oldest, must_expire = oldests[i], sums[i] + 1 - count
  if oldest and must_expire > 1 then
    oldest = frees_up(i, must_expire)
  end
  local reset = oldest and length - (nows[i] - oldest) or length
  local n = 3 * i
  answer[n - 2], answer[n - 1], answer[n] = sums[i], reset, charged
end
return answer
