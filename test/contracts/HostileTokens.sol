// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @title The part of EIP-3009 that the facilitator looks at, to be spoiled by the tokens below.
abstract contract TokenBase {
    string public name = "Hostile";
    string public version = "1";
    uint8 public constant decimals = 18;
    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(bytes32 => bool)) public authorizationState;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce);

    function mint(address to, uint256 value) external {
        balanceOf[to] += value;
    }
}

/// @title Needs more gas than a settlement may cost.
contract GluttonToken is TokenBase {
    mapping(uint256 => uint256) private filler;

    function transferWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256,
        uint256,
        bytes32 nonce,
        uint8,
        bytes32,
        bytes32
    ) external {
        for (uint256 i = 0; i < 30; i++) filler[uint256(nonce) ^ i] = 1;
        authorizationState[from][nonce] = true;
        emit AuthorizationUsed(from, nonce);
        emit Transfer(from, to, value);
    }
}

/// @title Behaves while it is simulated and reverts when it is mined: it knows its own signer's moves.
contract FickleToken is TokenBase {
    uint256 public revertsFromBlock = type(uint256).max;

    function setRevertsFromBlock(uint256 number) external {
        revertsFromBlock = number;
    }

    function transferWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256,
        uint256,
        bytes32 nonce,
        uint8,
        bytes32,
        bytes32
    ) external {
        require(block.number < revertsFromBlock, "fickle");
        require(!authorizationState[from][nonce], "authorization is used");
        authorizationState[from][nonce] = true;
        emit AuthorizationUsed(from, nonce);
        balanceOf[to] += value;
        emit Transfer(from, to, value);
    }
}

/// @title An ERC-20 without any EIP-3009.
contract BareToken {
    string public name = "Bare";
    mapping(address => uint256) public balanceOf;

    function mint(address to, uint256 value) external {
        balanceOf[to] += value;
    }
}
